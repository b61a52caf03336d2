"""Offers kubectl as a user has it, and what tests ask of it most."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import yaml

from tests.support.waiting import eventually

Object = dict[str, Any]

PATHS = {
    "jobflows": "/apis/flow.volcano.sh/v1alpha1",
    "jobtemplates": "/apis/flow.volcano.sh/v1alpha1",
    "jobs": "/apis/batch.volcano.sh/v1alpha1",
}
VOLCANO_JOBS = "jobs.batch.volcano.sh"
"""Volcano's Jobs on the command line, where the bare word means those of Kubernetes."""


@dataclass(frozen=True)
class Kubectl:
    """The program, on one API server and in one namespace. Called, it must succeed, and returns its output."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def within(self, namespace: str) -> Self:
        """Return the same for another namespace."""
        return replace(self, namespace=namespace)

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run it and return whatever came of it."""
        return subprocess.run(
            [*self._command(), *arguments], input=stdin, capture_output=True, text=True, timeout=90, check=False
        )

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def following(self, kind: str, name: str, *options: str) -> Iterator[Iterator[str]]:
        """Follow an object as `kubectl get -w` does; yields its lines, which end only with the block."""
        command = [*self._command(), "get", kind, name, "-w", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout
            try:
                yield iter(following.stdout)
            finally:
                following.terminate()

    def refused(self, *arguments: str, stdin: str | None = None) -> str:
        """Run what must fail, and return what kubectl tells its user."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, f"kubectl {' '.join(arguments)} was not refused: {done.stdout}{done.stderr}"
        return done.stderr

    def apply(self, *objects: Object) -> str:
        """Apply objects, and return the warnings."""
        done = self.run("apply", "-f", "-", stdin=as_yaml(*objects))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr

    def get(self, kind: str, name: str) -> Object | None:
        """Return one object, None if there is none."""
        found = self("get", kind, name, "--ignore-not-found", "-o", "json")
        return dict(json.loads(found)) if found else None

    def by_name(self, kind: str) -> dict[str, Object]:
        """Return the namespace's objects of a kind by name."""
        return {item["metadata"]["name"]: item for item in json.loads(self("get", kind, "-o", "json"))["items"]}

    def install_crd(self, file: Path) -> None:
        """Apply a CRD, and return once its resources are served."""
        self("apply", "--server-side", "-f", str(file))
        # kubectl fails at once, and does not wait, as long as there are no conditions at all.
        established = ("wait", "--for=condition=Established", "--timeout=20s", "-f", str(file))
        assert eventually(lambda: self.run(*established).returncode == 0), f"{file.name} is not served"

    def delete_unwatched(self, kind: str, name: str, *options: str) -> None:
        """Ask for a deletion and do not wait for its end."""
        self("delete", kind, name, "--wait=false", *options)

    def patch_status(self, kind: str, name: str, status: Mapping[str, Any]) -> None:
        """Merge into an object's status, as its controller would."""
        patch = json.dumps({"status": status})
        self("patch", kind, name, "--subresource=status", "--type=merge", "--patch", patch)

    def version(self, plural: str) -> str:
        """Return the version of the collection as it is now, from which `history` can tell what came after."""
        return str(json.loads(self("get", "--raw", self._path(plural)))["metadata"]["resourceVersion"])

    def history(self, plural: str, since: str, seconds: int = 1) -> list[tuple[str, Object]]:
        """Return every event (ADDED, MODIFIED, DELETED and its object) since a version, in the server's order.

        It listens for some more `seconds` (whole ones, as the API has it), and so sees what is written meanwhile.
        """
        path = f"{self._path(plural)}?watch=true&resourceVersion={since}&timeoutSeconds={seconds}"
        events = [json.loads(line) for line in self("get", "--raw", path).splitlines()]
        errors = [event["object"] for event in events if event["type"] == "ERROR"]
        assert not errors, errors
        return [(event["type"], event["object"]) for event in events if event["type"] != "BOOKMARK"]

    def _command(self) -> list[str]:
        # What it has learnt of a server is kept by port, and ports of tests are used again by other servers.
        cache = self.kubeconfig.parent / "kubectl-cache"
        return [
            str(self.program),
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={cache}",
            f"--namespace={self.namespace}",
        ]

    def _path(self, plural: str) -> str:
        return f"{PATHS[plural]}/namespaces/{self.namespace}/{plural}"


def as_yaml(*objects: Object) -> str:
    """Return a manifest, for kubectl's standard input. It is JSON, for Go's YAML takes a plain `y` for true."""
    return "".join(f"---\n{json.dumps(each)}\n" for each in objects)


def documents(*files: Path) -> Iterator[Object]:
    """Yield the objects of manifests."""
    for file in files:
        yield from yaml.safe_load_all(file.read_text())
