"""Offers a player of the kubelet: it runs the Pods of a cluster that has no nodes, as processes of this machine.

    with Kubelet(server) as kubelet:
        helm("install", ...)

Deployments, Jobs and CronJobs are the real controller manager's; what they make are Pods, and each Pod's container is
run here with its command, arguments and environment, its mounted volumes as files (`kubelet_volumes.py`), and the token
of its ServiceAccount. Probes, preStop, SIGTERM, the grace period and restarts are as the kubelet has them, and the
Pod's status says what is so. Three things are not as in a container, and are replaced in what the container is told:

- all Pods share one network, so each declared port becomes a free one of 127.0.0.1;
- all share one file system, so what is mounted lies elsewhere, and the API server is found by a kubeconfig;
- the image is this checkout.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import yaml

from devcluster.stack.programs import free_ports
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubelet_api import Api, Object, Refusal
from tests.support.kubelet_container import Probes, Stop
from tests.support.kubelet_volumes import NotThereYet, Volumes, field_of

NODE = "played"
PERIOD = 0.15
SYNC = 0.5
"""Seconds between two looks at what is mounted. A kubelet takes up to a minute and a half."""

MERGE = "application/merge-patch+json"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "cronjob-controller",
    "endpointslice-controller",
    "disruption-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)
"""What of the controller manager it takes for Pods to come and go as in any cluster."""


class Kubelet:
    """Plays all Pods of the cluster, for as long as the `with` lasts."""

    def __init__(self, server: KubeApiserver) -> None:
        self._server = server
        self._api = Api(server)
        self._directory = tempfile.TemporaryDirectory(prefix="jobflow-kubelet-")
        self._runs: dict[str, Run] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self.troubles: list[str] = []
        """What went wrong in here: tests look at it at their end."""

    def __enter__(self) -> Self:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        self._api("POST", "/api/v1/nodes", node)
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ended.set()
        self._thread.join()
        for run in self._runs.values():
            run.kill()
        self._api.__exit__()
        self._directory.cleanup()

    def pods(self, namespace: str, component: str = "") -> list["Run"]:
        """The Pods that are there, of a component of ours or all; each with its process."""
        return [
            run
            for run in list(self._runs.values())
            if run.namespace == namespace and run.labels.get("app.kubernetes.io/component") == component
        ]

    def port(self, address: str, port: int) -> int | None:
        """At which port of this machine a Pod's port is reached."""
        found = (run.ports.get(port) for run in list(self._runs.values()) if run.address == address)
        return next(found, None)

    def logs(self) -> Iterator[tuple[str, str]]:
        """Name and end of output of each Pod that ever ran."""
        for log in sorted(Path(self._directory.name).glob("*/*.log")):
            yield log.stem, log.read_text(errors="replace")[-3000:]

    def _play(self) -> None:
        while not self._ended.wait(PERIOD):
            try:
                pods = {pod["metadata"]["uid"]: pod for pod in self._api.get("/api/v1/pods")["items"]}
            except (Refusal, OSError):
                continue  # the API server is away; the Pods run on
            for uid, pod in pods.items():
                self._advance(uid, pod)
            for uid in self._runs.keys() - pods.keys():
                self._runs.pop(uid).kill()

    def _advance(self, uid: str, pod: Object) -> None:
        try:
            if uid not in self._runs:
                directory = Path(self._directory.name, uid)
                directory.mkdir()
                number = len(list(Path(self._directory.name).iterdir()))
                self._runs[uid] = Run(self._api, self._server, directory, pod, f"10.244.{number // 250}.{number % 250}")
            self._runs[uid].advance(pod)
        except (Refusal, OSError) as failed:
            # A Pod that has gone or was changed meanwhile, or an API server that is away: the next look shows it.
            if not isinstance(failed, Refusal) or failed.status in {404, 409, 500}:
                return
            self.troubles.append(f"{pod['metadata']['name']}: {failed}")
        except Exception:
            self.troubles.append(f"{pod['metadata']['name']}: {traceback.format_exc()}")


class Run:
    """One Pod, with the process of its only container."""

    def __init__(self, api: Api, server: KubeApiserver, directory: Path, pod: Object, address: str) -> None:
        metadata = pod["metadata"]
        (self._container,) = pod["spec"]["containers"]
        self._api = api
        self._server = server
        self._directory = directory
        self._pod = pod
        self._volumes = Volumes(api, directory, pod)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping: Stop | None = None
        self._probes = Probes(self._container, self._reach)
        self._mounted_at = 0.0
        self._restart_at = 0.0
        self._told: Object = {}
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.labels: dict[str, str] = metadata.get("labels", {})
        self.address = address
        self.restarts = 0
        self.waits_for = ""
        self.log = directory / f"{self.name}.log"
        declared = [port["containerPort"] for port in self._container.get("ports", [])]
        self.ports = dict(zip(declared, free_ports(len(declared)), strict=True))

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that runs now."""
        assert self._process is not None, f"{self.name} does not run; it waits for {self.waits_for}"
        return self._process

    @property
    def is_ready(self) -> bool:
        """Whether its readiness probe was answered well."""
        return self._probes.ready and self._stopping is None

    @property
    def token(self) -> str:
        """The token of its ServiceAccount, as its container finds it."""
        mounts = self._container["volumeMounts"]
        (account,) = (mount["name"] for mount in mounts if mount["mountPath"] == ACCOUNT)
        return (self._volumes.path(account) / "token").read_text()

    def renew_tokens(self) -> None:
        """Replace the token of its ServiceAccount, as the kubelet does before it expires."""
        self._volumes.forget_tokens()

    def kill(self) -> None:
        """End its processes at once."""
        for process in (self._process, self._stopping and self._stopping.hook):
            if process:
                process.kill()
                process.wait()

    def advance(self, pod: Object) -> None:
        """Look, and do what the kubelet would do next. Raises Refusal."""
        self._pod = pod
        if not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            self._api("POST", self._path("binding"), {"metadata": {"name": self.name}, "target": target})
            return
        if "deletionTimestamp" in pod["metadata"]:
            self._stop()
            return
        if pod["status"].get("phase") in {"Succeeded", "Failed"}:
            return
        if self._process is None:
            self._start()
        else:
            self._look_after(self._process)

    def _start(self) -> None:
        if time.monotonic() < self._restart_at:
            return
        try:
            self._volumes.sync()
        except NotThereYet as missing:
            self.waits_for = str(missing)
            self._tell("Pending", {"waiting": {"reason": "ContainerCreating", "message": str(missing)}})
            return
        self._mounted_at = time.monotonic()
        self.waits_for = ""
        command = [self._translated(part) for part in (*self._container["command"], *self._container.get("args", ()))]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._directory, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._probes.began()
        self._tell("Running", {"running": {"startedAt": _now()}})

    def _look_after(self, process: subprocess.Popen[bytes]) -> None:
        code = process.poll()
        if code is not None:
            self._ended(code)
            return
        if time.monotonic() - self._mounted_at > SYNC:
            self._mounted_at = time.monotonic()
            try:
                self._volumes.sync()
            except NotThereYet as missing:
                self.waits_for = str(missing)  # what is mounted stays as it was
        if self._probes.look():
            process.terminate()
        self._tell("Running", {"running": {"startedAt": _now()}})

    def _ended(self, code: int) -> None:
        self._process = None
        self._probes.ready = False
        policy = self._pod["spec"]["restartPolicy"]
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            ended = {"exitCode": code, "reason": "Completed" if code == 0 else "Error", "finishedAt": _now()}
            self._tell("Succeeded" if code == 0 else "Failed", {"terminated": ended})
            return
        self.restarts += 1
        self._restart_at = time.monotonic() + min(10.0, 0.5 * 2**self.restarts)
        self._tell("Running", {"waiting": {"reason": "CrashLoopBackOff"}})

    def _stop(self) -> None:
        if self._stopping is None:
            self._probes.ready = False
            hook = self._container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
            grace = self._pod["metadata"].get("deletionGracePeriodSeconds", 30)
            started = self._hook(hook) if hook and self._process is not None else None
            self._stopping = Stop(self._process, started, grace)
        if self._stopping.is_over():
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._pod["metadata"]["uid"]}}
            self._api("DELETE", self._path(), options)

    def _hook(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [self._translated(part) for part in command], env=self._environment(), stdout=log, stderr=log
            )

    def _tell(self, phase: str, state: Object) -> None:
        """Write the status, if it differs from what was written last."""
        ready = self._probes.ready
        told = {"phase": phase, "ready": ready, "state": next(iter(state)), "restarts": self.restarts}
        if told == self._told:
            return
        conditions = [
            {"type": kind, "status": "True" if held else "False", "lastTransitionTime": _now()}
            for kind, held in {
                "PodScheduled": True,
                "Initialized": True,
                "ContainersReady": ready,
                "Ready": ready,
            }.items()
        ]
        container = {
            "name": self._container["name"],
            "image": self._container["image"],
            "imageID": "",
            "ready": ready,
            "restartCount": self.restarts,
            "state": state,
        }
        status = {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": [container],
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "startTime": self._pod["status"].get("startTime") or _now(),
        }
        self._api("PATCH", self._path("status"), {"status": status}, MERGE)
        self._told = told

    def _environment(self) -> dict[str, str]:
        given = {
            each["name"]: self._translated(each["value"])
            if "value" in each
            else field_of(self._pod, each["valueFrom"]["fieldRef"]["fieldPath"])
            for each in self._container.get("env", ())
        }
        kubeconfig = self._kubeconfig()
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "HOME": str(self._directory),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JOBFLOW_BIND_ADDRESS": "127.0.0.1",
            **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}),
            **given,
        }

    def _kubeconfig(self) -> Path | None:
        """What stands for the address of the API server in a Pod's environment; no account, no kubeconfig."""
        mounts = self._container.get("volumeMounts", ())
        account = next((mount["name"] for mount in mounts if mount["mountPath"] == ACCOUNT), None)
        if account is None:
            return None
        files = self._volumes.path(account)
        cluster = {"server": self._server.url, "certificate-authority": str(files / "ca.crt")}
        path = self._directory / "kubeconfig"
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "pod", "cluster": cluster}],
            "users": [{"name": "account", "user": {"tokenFile": str(files / "token")}}],
            "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "account"}}],
            "current-context": "pod",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    def _translated(self, text: str) -> str:
        """A part of the command, with ports and mounted paths as they are on this machine."""
        for mount in self._container.get("volumeMounts", ()):
            text = text.replace(f"{mount['mountPath']}/", f"{self._volumes.path(mount['name'])}/")
        found = re.fullmatch(r"(--[a-z-]*(?:-address=:|port=))(\d+)", text)
        if found and int(found[2]) in self.ports:
            flag, port = found[1], self.ports[int(found[2])]
            return f"{flag[:-1]}127.0.0.1:{port}" if flag.endswith(":") else f"{flag}{port}"
        return text

    def _reach(self, port: int | str) -> int:
        named = {each.get("name"): each["containerPort"] for each in self._container.get("ports", ())}
        return self.ports[port if isinstance(port, int) else named[port]]

    def _path(self, subresource: str = "") -> str:
        path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"
        return f"{path}/{subresource}" if subresource else path


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
