"""Offers kube-apiserver, etcd, kubectl and kube-controller-manager, wherever they come from.

Each one is looked for, in this order, in

1. its own variable, as controller-runtime's envtest names them: `TEST_ASSET_KUBE_APISERVER`, `TEST_ASSET_ETCD`,
   `TEST_ASSET_KUBECTL` (and, likewise, `TEST_ASSET_KUBE_CONTROLLER_MANAGER`, which envtest does not know);
2. the directory `KUBEBUILDER_ASSETS`;
3. the cache, `$XDG_CACHE_HOME/jobflow-controlplane/<versions>` (`~/.cache` by default);

and what is nowhere is built with Go from the module in `tests/controlplane`, once, into the cache. No package registry
has these programs ready made, but their source is published as Go modules.

    python -m tests.support.binaries            # say where each one is
    python -m tests.support.binaries --build    # and build what is missing
"""

import argparse
import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

MODULE = Path(__file__).parents[1] / "controlplane"
OLDEST_GO = (1, 26)

HOW_TO_GET_IT = (
    "install Go 1.26 or newer (https://go.dev/dl) and run `python -m tests.support.binaries --build` "
    "(about five minutes on two cores, once), or point KUBEBUILDER_ASSETS at a directory that has them"
)

Report = Callable[[str], None]


class NotAvailableError(Exception):
    """Something of the real control plane is neither here nor can it be made here."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The programs of one control plane; each path is that of an executable file."""

    kube_apiserver: Path
    etcd: Path
    kubectl: Path
    kube_controller_manager: Path


PROGRAMS = {field.name: field.name.replace("_", "-") for field in fields(Binaries)}
"""Name of the field and the name of its program."""

SOURCES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}


def require_binaries() -> Binaries:
    """Return the programs, for a fixture: what is missing is built.

    Where that is not possible the test is skipped, and the reason says how to get them. In CI (`CI=true`) it fails
    instead, for there a test that silently stops running is a test that is lost.
    """
    try:
        return ensure_binaries()
    except NotAvailableError as missing:
        skip_or_fail(missing)


def skip_or_fail(missing: NotAvailableError) -> NoReturn:
    """End the running test: skipped with the reason on a laptop, failed in CI."""
    import pytest

    if os.environ.get("CI", "").lower() in {"", "0", "false"}:
        pytest.skip(f"NOT RUN, needs a real control plane: {missing}")
    pytest.fail(f"in CI the real control plane must be there: {missing}", pytrace=False)


def ensure_binaries(report: Report = lambda line: None) -> Binaries:
    """Return the programs, building what is missing; may be called by many processes at once.

    Raises NotAvailableError with what to do about it.
    """
    found = find_binaries(os.environ)
    missing = [program for field, program in PROGRAMS.items() if field not in found]
    if missing:
        build(missing, report)
        found = find_binaries(os.environ)
    return Binaries(**found)


def find_binaries(environ: Mapping[str, str]) -> dict[str, Path]:
    """Return each program that is there already, by its field in `Binaries`."""
    found = {field: locate(program, environ) for field, program in PROGRAMS.items()}
    return {field: path for field, path in found.items() if path is not None}


def locate(program: str, environ: Mapping[str, str]) -> Path | None:
    """Return the first existing place of a program. A variable that names a missing file is an error, not a miss."""
    variable = "TEST_ASSET_" + program.upper().replace("-", "_")
    if named := environ.get(variable):
        if not is_executable(Path(named)):
            raise NotAvailableError(f"{variable} names {named}, which is no executable file")
        return Path(named)
    assets = [Path(environ["KUBEBUILDER_ASSETS"])] if environ.get("KUBEBUILDER_ASSETS") else []
    places = [directory / program for directory in (*assets, cache_directory())]
    return next((place for place in places if is_executable(place)), None)


def is_executable(path: Path) -> bool:
    """A program is a file that may be run."""
    return path.is_file() and os.access(path, os.X_OK)


def cache_root() -> Path:
    """Return where everything that is made from the Go modules is kept, outside any checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jobflow-controlplane"


def cache_directory() -> Path:
    """Return the directory of exactly the versions that go.mod names, so that a new version is a new directory."""
    kubernetes, etcd = required_version("k8s.io/kubernetes"), required_version("go.etcd.io/etcd/server/v3")
    machine = f"{platform.system()}-{platform.machine()}".lower()
    return cache_root() / f"kubernetes-{kubernetes}-etcd-{etcd}-{machine}"


def required_version(module: str, module_directory: Path = MODULE) -> str:
    """Return the version of a module that the go.mod beside it requires, without the v."""
    go_mod = (module_directory / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} v(\S+)", go_mod, re.MULTILINE)
    if not found:
        raise LookupError(f"{module_directory / 'go.mod'} requires no {module}")
    return found[1]


def build(programs: list[str], report: Report) -> None:
    """Build programs into the cache. Of several processes that ask at once one builds and the others wait for it."""
    directory = cache_directory()
    with only_one(directory.with_name(f"{directory.name}.lock"), report):
        programs = [program for program in programs if not is_executable(directory / program)]
        if not programs:
            return
        go, environ = find_go()
        directory.mkdir(parents=True, exist_ok=True)
        for program in programs:
            report(f"building {program} {linked_version(program)} (minutes the first time, seconds later)")
            with tempfile.TemporaryDirectory(dir=directory) as unfinished:
                made = Path(unfinished, program)
                run_go(
                    [go, "build", "-trimpath", "-ldflags", link_flags(program), "-o", str(made), SOURCES[program]],
                    environ,
                )
                made.replace(directory / program)


def linked_version(program: str) -> str:
    """Return the version of the module that a program is built from."""
    return required_version("go.etcd.io/etcd/server/v3" if program == "etcd" else "k8s.io/kubernetes")


def link_flags(program: str) -> str:
    """Return the linker's flags: small, and Kubernetes' programs are told their version as its own release does."""
    if program == "etcd":
        return "-s -w"
    version = linked_version(program)
    major, minor, _ = version.split(".", 2)
    settings = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(
        ["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in settings.items())]
    )


def find_go() -> tuple[str, dict[str, str]]:
    """Return the go command and the environment to call it in."""
    go = shutil.which("go")
    if go is None:
        raise NotAvailableError(f"it is not here, and there is no Go to make it: {HOW_TO_GET_IT}")
    said = subprocess.run([go, "env", "GOVERSION"], cwd=MODULE, capture_output=True, text=True, check=False)
    version = tuple(map(int, re.findall(r"\d+", said.stdout)[:2]))
    if version < OLDEST_GO:
        raise NotAvailableError(
            f"{said.stdout.strip() or said.stderr.strip()} cannot build kube-apiserver: {HOW_TO_GET_IT}"
        )
    environ = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    if version > OLDEST_GO:
        # With Go 1.27's new encoding/json the API server's OpenAPI is broken, and kubectl refuses every manifest.
        environ["GOEXPERIMENT"] = "nojsonv2"
    return go, environ


def run_go(command: list[str], environ: Mapping[str, str], cwd: Path = MODULE) -> None:
    """Run the go command in a module of ours, at low priority: others work on this machine meanwhile."""
    nice = shutil.which("nice")
    done = subprocess.run(
        [nice, *command] if nice else command, cwd=cwd, env=dict(environ), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotAvailableError(f"`{' '.join(command)}` failed:\n{done.stderr[-3000:]}")


@contextmanager
def only_one(lock: Path, report: Report) -> Iterator[None]:
    """Hold a lock that is known to every process of this machine, and dies with its holder."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another process that is building ({lock})")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(arguments: list[str] | None = None) -> int:
    """Answer on the command line; 0 when all programs are there."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.binaries", description="Find or build the control plane."
    )
    parser.add_argument("--build", action="store_true", help="build what is missing (needs Go 1.26 or newer)")
    wanted = parser.parse_args(arguments)
    try:
        if wanted.build:
            ensure_binaries(report=lambda line: print(line, file=sys.stderr, flush=True))
        found = find_binaries(os.environ)
    except NotAvailableError as missing:
        print(missing, file=sys.stderr)
        return 1
    for field, program in PROGRAMS.items():
        print(f"{program}: {found.get(field, 'missing')}", file=sys.stderr)
    if len(found) < len(PROGRAMS):
        print(f"to get what is missing, {HOW_TO_GET_IT}", file=sys.stderr)
        return 1
    print(found["kube_apiserver"].parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
