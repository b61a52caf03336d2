"""Offers helm: the program, built once like the control plane (`binaries.py`), and what tests ask of it.

It is looked for in the variable `TEST_ASSET_HELM`, then in `KUBEBUILDER_ASSETS`, then in the cache; any Helm 3 will do.
What is nowhere is built with Go from the module in `tests/controlplane/helm`.

    python -m tests.support.helm            # say where it is
    python -m tests.support.helm --build    # and build it where it is missing
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.binaries import (
    MODULE,
    NotAvailableError,
    Report,
    cache_root,
    find_go,
    is_executable,
    locate,
    only_one,
    required_version,
    run_go,
    skip_or_fail,
)

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "jobflow"
SOURCE = MODULE / "helm"
"""The Go module whose go.mod pins the version."""

Object = dict[str, Any]


def require_helm() -> Path:
    """Return the program, for a fixture; skips the test, or in CI fails it, where it cannot be had."""
    try:
        return ensure_helm()
    except NotAvailableError as missing:
        skip_or_fail(missing)


def ensure_helm(report: Report = lambda line: None) -> Path:
    """Return the program, building it if it is missing; may be called by many processes at once."""
    found = find_helm(os.environ)
    if found is None:
        found = cache() / "helm"
        build(found, report)
    return found


def find_helm(environ: Mapping[str, str]) -> Path | None:
    """Return the program where it is there already."""
    cached = cache() / "helm"
    return locate("helm", environ) or (cached if is_executable(cached) else None)


def cache() -> Path:
    """Return the directory of exactly this version."""
    machine = f"{platform.system()}-{platform.machine()}".lower()
    return cache_root() / f"helm-{required_version('helm.sh/helm/v3', SOURCE)}-{machine}"


def build(program: Path, report: Report) -> None:
    """Build it into the cache, once."""
    with only_one(program.parent.with_name(f"{program.parent.name}.lock"), report):
        if is_executable(program):
            return
        go, environ = find_go()
        report(f"building {program.parent.name} (a minute)")
        program.parent.mkdir(parents=True, exist_ok=True)
        major, minor, _ = required_version("k8s.io/kubernetes").split(".", 2)
        # Without these it takes itself for a Helm of Kubernetes 1.20 when there is no cluster to ask.
        known = {"pkg/chartutil.k8sVersion": (major, minor), "pkg/lint/rules.k8sVersion": (major, minor)}
        flags = [
            f"-X helm.sh/helm/v3/{name}{part}={value}"
            for name, version in known.items()
            for part, value in zip(("Major", "Minor"), version, strict=True)
        ]
        with tempfile.TemporaryDirectory(dir=program.parent) as unfinished:
            made = Path(unfinished, "helm")
            command = [go, "build", "-trimpath", "-ldflags", " ".join(["-s -w", *flags]), "-o", str(made)]
            run_go([*command, "helm.sh/helm/v3/cmd/helm"], environ, cwd=SOURCE)
            made.replace(program)


@dataclass(frozen=True)
class Helm:
    """The program, on one cluster or on none. Called, it must succeed, and returns its output."""

    program: Path
    home: Path
    """Where it keeps what it remembers."""
    kubeconfig: Path | None = None

    def __call__(self, *arguments: str, values: Object | None = None) -> str:
        done = self.run(*arguments, values=values)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def run(
        self, *arguments: str, values: Object | None = None, timeout: float = 110
    ) -> subprocess.CompletedProcess[str]:
        """Run it and return whatever came of it. `values` go in as a file, from standard input."""
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBE"))},
            "HELM_CACHE_HOME": str(self.home / "cache"),
            "HELM_CONFIG_HOME": str(self.home / "config"),
            "HELM_DATA_HOME": str(self.home / "data"),
            "KUBECONFIG": str(self.kubeconfig or "/nonexistent"),
        }
        given = () if values is None else ("--values", "-")
        return subprocess.run(
            [str(self.program), *arguments, *given],
            input=None if values is None else yaml.safe_dump(values),
            env=environ,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def template(
        self,
        release: str = "demo",
        namespace: str = "jobs",
        *arguments: str,
        values: Object | None = None,
    ) -> list[Object]:
        """Return the objects that the chart renders to, hooks included."""
        rendered = self("template", release, str(CHART), "--namespace", namespace, *arguments, values=values)
        return [each for each in yaml.safe_load_all(rendered) if each]

    def refused(self, *arguments: str, values: Object | None = None) -> str:
        """Run what must fail, and return what helm tells its user."""
        done = self.run(*arguments, values=values)
        assert done.returncode != 0, f"helm {' '.join(arguments)} was not refused: {done.stdout}"
        return done.stderr


def main(arguments: list[str] | None = None) -> int:
    """Answer on the command line; 0 when it is there."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.helm", description="Find or build helm.")
    parser.add_argument("--build", action="store_true", help="build it where it is missing (needs Go 1.26 or newer)")
    asked = parser.parse_args(arguments)
    try:
        found = ensure_helm(lambda line: print(line, file=sys.stderr)) if asked.build else find_helm(os.environ)
    except NotAvailableError as missing:
        print(missing, file=sys.stderr)
        return 1
    print(found or "helm: missing")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
