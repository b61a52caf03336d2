"""Offers a real Kubernetes API server on 127.0.0.1, without nodes: kube-apiserver on an etcd of its own.

    with KubeApiserver(require_binaries()) as server:
        server.kubectl("get", "namespaces")

`kubeconfig` makes its user cluster-admin. With the controller manager (the default) namespaces finish terminating, what
has lost its owner is garbage collected, and every namespace has its default ServiceAccount; nothing else of it runs.
Everything lies in `dir`, which is deleted at the end. The API server can be restarted, or killed and started, on the
same URL and data.
"""

import asyncio
import json
import secrets
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from devcluster.stack.programs import free_ports
from tests.support.binaries import Binaries
from tests.support.kubectl import Kubectl

START_TIMEOUT = 60.0
CONTROLLERS = "namespace-controller,garbage-collector-controller,serviceaccount-controller"


class ControlPlaneError(Exception):
    """A program of the control plane did not start or did not stay; the message has the end of its log."""


class KubeApiserver:
    """One API server with its data, for as long as the `with` or `async with` lasts."""

    def __init__(
        self,
        binaries: Binaries,
        *,
        controller_manager: bool = True,
        controllers: Sequence[str] = (),
        arguments: Sequence[str] = (),
        audit: bool = False,
        crds: Sequence[Path] = (),
    ) -> None:
        """Prepare, starting nothing.

        `controllers` run beside those that always do, `arguments` are further flags of the API server. `audit` keeps a
        log of all requests, see `audit_events`. `crds` are installed before the controller manager starts: its garbage
        collector asks only every 30 s whether there are new kinds.
        """
        self.binaries = binaries
        self.dir = Path(tempfile.mkdtemp(prefix="jobflow-kube-apiserver-"))
        self.kubeconfig = self.dir / "kubeconfig"
        self.ca_file = self.dir / "ca.crt"
        self.audit_log = self.dir / "audit.log"
        self.token = secrets.token_urlsafe(24)
        self.url = ""
        self._controller_manager = controller_manager
        self._controllers = ",".join([CONTROLLERS, *controllers])
        self._arguments = arguments
        self._audit = audit
        self._crds = crds
        self._etcd_url = ""
        self._tokens: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *reason: object) -> None:
        await asyncio.to_thread(self.stop)

    def start(self) -> None:
        """Start everything, and return once it serves."""
        try:
            self._write_certificates()
            self._start_storage_and_server()
            for crd in self._crds:
                Kubectl(self.binaries.kubectl, self.kubeconfig).install_crd(crd)
            if self._controller_manager:
                self.start_controller_manager()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything and delete its data."""
        for program in ("kube-controller-manager", "kube-apiserver", "etcd"):
            self._end(program, signal.SIGKILL)  # its data goes with it, so nothing needs to be finished
        shutil.rmtree(self.dir, ignore_errors=True)

    def stop_apiserver(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the API server alone, or with SIGKILL let it crash; what it stored stays."""
        self._end("kube-apiserver", how)

    def start_apiserver(self) -> None:
        """Start the API server on its old URL and data, and return once it serves."""
        self._launch_apiserver()
        self._wait_until_ready()

    def restart_apiserver(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the API server and start it again."""
        self.stop_apiserver(how)
        self.start_apiserver()

    def start_controller_manager(self) -> None:
        """Start the controller manager, and return once it has given the default namespace its ServiceAccount."""
        self._launch(
            "kube-controller-manager",
            self.binaries.kube_controller_manager,
            f"--kubeconfig={self.dir / 'controller-manager.kubeconfig'}",
            # Each controller acts as itself, for admission exempts two of them by name.
            "--use-service-account-credentials",
            f"--controllers={self._controllers}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--root-ca-file={self.ca_file}",
            f"--service-account-private-key-file={self.dir / 'service-account.key'}",
        )
        deadline = time.monotonic() + START_TIMEOUT
        while self._get("/api/v1/namespaces/default/serviceaccounts/default") != 200:
            self._check_alive("kube-controller-manager", deadline)
            time.sleep(0.05)

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl on this API server as cluster-admin."""
        done = Kubectl(self.binaries.kubectl, self.kubeconfig).run(*arguments, stdin=stdin)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done

    def audit_events(self) -> Iterator[dict[str, Any]]:
        """Yield what the audit log has by now: one event for each finished request, without bodies."""
        for line in self.audit_log.read_text().splitlines():
            yield json.loads(line)

    def log(self, program: str) -> str:
        """Return what a program has written so far."""
        return (self.dir / f"{program}.log").read_text(errors="replace")

    def _start_storage_and_server(self) -> None:
        """Start etcd and the API server at once; a port that someone else took meanwhile means other ports."""
        for attempt in range(5):
            etcd, peer, secure = free_ports(3)
            self._etcd_url = f"http://127.0.0.1:{etcd}"
            self.url = f"https://127.0.0.1:{secure}"
            self._write_kubeconfigs()
            try:
                self._launch_etcd(f"http://127.0.0.1:{peer}")
                self.start_apiserver()
            except ControlPlaneError as failed:
                if "address already in use" not in str(failed) or attempt == 4:
                    raise
                self._end("kube-apiserver", signal.SIGKILL)
                self._end("etcd", signal.SIGKILL)
                shutil.rmtree(self.dir / "etcd", ignore_errors=True)
            else:
                return

    def _launch_etcd(self, peer_url: str) -> None:
        self._launch(
            "etcd",
            self.binaries.etcd,
            f"--data-dir={self.dir / 'etcd'}",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=default={peer_url}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def _launch_apiserver(self) -> None:
        audit = [f"--audit-log-path={self.audit_log}", f"--audit-policy-file={self.dir / 'audit-policy.yaml'}"]
        # Nothing but the controller manager makes ServiceAccounts, and Pods are refused where their account is missing.
        accounts = [] if self._controller_manager else ["--disable-admission-plugins=ServiceAccount"]
        self._launch(
            "kube-apiserver",
            self.binaries.kube_apiserver,
            f"--etcd-servers={self._etcd_url}",
            f"--secure-port={self.url.rsplit(':', 1)[1]}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.dir}",
            f"--tls-cert-file={self.dir / 'server.crt'}",
            f"--tls-private-key-file={self.dir / 'server.key'}",
            f"--client-ca-file={self.ca_file}",
            f"--token-auth-file={self.dir / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.dir / 'service-account.pub'}",
            f"--service-account-signing-key-file={self.dir / 'service-account.key'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            *accounts,
            *(audit if self._audit else []),
            *self._arguments,
        )

    def _launch(self, program: str, path: Path, *arguments: str) -> None:
        with (self.dir / f"{program}.log").open("ab") as log:
            self._processes[program] = subprocess.Popen(
                [path, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir
            )

    def _end(self, program: str, how: signal.Signals) -> None:
        process = self._processes.pop(program, None)
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while self._get("/readyz") != 200:
            self._check_alive("etcd", deadline)
            self._check_alive("kube-apiserver", deadline)
            time.sleep(0.05)

    def _check_alive(self, program: str, deadline: float) -> None:
        code = self._processes[program].poll()
        if code is not None or time.monotonic() > deadline:
            happened = f"ended with {code}" if code is not None else f"is not ready after {START_TIMEOUT:.0f} s"
            raise ControlPlaneError(f"{program} {happened}:\n{self.log(program)[-4000:]}")

    def _get(self, path: str) -> int:
        """Return the status of a GET, 0 when nobody answers."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(request, timeout=5, context=self._trust()) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code
        except OSError:
            return 0

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca_file))

    def _write_certificates(self) -> None:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.ca_file)
        server = authority.issue_cert("127.0.0.1", "localhost")
        server.private_key_pem.write_to_path(self.dir / "server.key")
        server.cert_chain_pems[0].write_to_path(self.dir / "server.crt")
        accounts = ec.generate_private_key(ec.SECP256R1())
        (self.dir / "service-account.key").write_bytes(
            accounts.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        (self.dir / "service-account.pub").write_bytes(
            accounts.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        manager = secrets.token_urlsafe(24)
        users = [f'{self.token},admin,admin-uid,"system:masters"', f"{manager},system:kube-controller-manager,kcm-uid"]
        (self.dir / "tokens.csv").write_text("\n".join(users) + "\n")
        self._tokens = {"kubeconfig": self.token, "controller-manager.kubeconfig": manager}
        policy = {"level": "Metadata", "omitStages": ["RequestReceived"]}
        self._write_yaml("audit-policy.yaml", {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [policy]})

    def _write_kubeconfigs(self) -> None:
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        for name, token in self._tokens.items():
            self._write_yaml(
                name,
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "test", "cluster": cluster}],
                    "users": [{"name": "user", "user": {"token": token}}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
                    "current-context": "test",
                },
            )

    def _write_yaml(self, name: str, document: dict[str, Any]) -> None:
        path = self.dir / name
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document))
