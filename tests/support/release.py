"""Makes what a release consists of, into a directory, and checks it: `python -m tests.support.release [--into dist]`.

A wheel, a source archive, the packaged chart, and a list of the locked packages (an SBOM in CycloneDX's JSON). The
wheel is installed into an empty environment with the packages of the lock file, checked against their hashes, and its
commands are run there. Needs helm (`helm.py`) and a package index.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from shared import __version__
from tests.support.helm import CHART, ROOT, Helm, ensure_helm

ROOMS = ("shared", "webhook", "controller", "certs")
COMMANDS = (
    ("jobflow-webhook", "--version"),
    ("jobflow-controller", "--version"),
    ("jobflow-why", "--help"),
    ("jobflow-check", "--help"),
    ("python", "-m", "webhook", "--help"),
    ("python", "-m", "controller", "--help"),
    ("python", "-m", "certs", "--help"),
    ("python", "-m", "certs", "apply", "--help"),
)


class Wrong(Exception):
    """This cannot be released; the message says why."""


def release(into: Path) -> list[Path]:
    """Make and check everything; return what was made. Raises Wrong."""
    check_versions()
    into.mkdir(parents=True, exist_ok=True)
    wheel, source = build(into)
    check_contents(wheel, source)
    check_installed(wheel)
    chart = package_chart(into)
    bill = into / f"jobflow-{__version__}.sbom.json"
    bill.write_text(json.dumps(bill_of_materials((ROOT / "requirements.txt").read_text()), indent=2) + "\n")
    return [wheel, source, chart, bill]


def check_versions() -> None:
    """One version stands everywhere."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    image = re.search(r"^ARG VERSION=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    found = {
        "version of the chart": chart["version"],
        "appVersion of the chart": chart["appVersion"],
        "VERSION of the Dockerfile": image[1] if image else "missing",
    }
    if others := {where: version for where, version in found.items() if version != __version__}:
        raise Wrong(f"shared/__init__.py says {__version__}, but {others}")
    changelog = (ROOT / "CHANGELOG.md").read_text()
    if not re.search(rf"^## \[(Unreleased|{re.escape(__version__)})\]", changelog, re.MULTILINE):
        raise Wrong(f"CHANGELOG.md says nothing of {__version__}")


def build(into: Path) -> tuple[Path, Path]:
    """Build wheel and source archive with the locked builder."""
    run(sys.executable, "-m", "hatchling", "build", "-d", str(into.resolve()), cwd=ROOT)
    return into / f"jobflow-{__version__}-py3-none-any.whl", into / f"jobflow-{__version__}.tar.gz"


def check_contents(wheel: Path, source: Path) -> None:
    """The wheel has the programs and nothing else, the archive what it takes to build and test them."""
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    if tops != {*ROOMS, f"jobflow-{__version__}.dist-info"}:
        raise Wrong(f"the wheel has {sorted(tops)}")
    with tarfile.open(source) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if "/" in member.name}
    needed = {"pyproject.toml", "README.md", "requirements.txt", "charts/jobflow/Chart.yaml", "tests/conftest.py"}
    if missing := needed - names:
        raise Wrong(f"the source archive lacks {sorted(missing)}")


def check_installed(wheel: Path) -> None:
    """In an empty environment with the locked packages, every command runs, from a directory that has no sources."""
    with tempfile.TemporaryDirectory(prefix="jobflow-release-") as directory:
        place = Path(directory, "environment")
        install = installer(place)
        run(*install, "--require-hashes", "-r", str(ROOT / "requirements.txt"))
        run(*install, "--no-deps", str(wheel.resolve()))
        for command, *arguments in COMMANDS:
            said = run(str(place / "bin" / command), *arguments, cwd=Path(directory))
            if arguments == ["--version"] and __version__ not in said:
                raise Wrong(f"{command} --version says {said!r}")


def installer(place: Path) -> Sequence[str]:
    """Make an empty environment, and return the command that installs into it: uv's where it is there, else pip's."""
    if uv := shutil.which("uv"):
        run(uv, "venv", "--quiet", "--python", sys.executable, str(place))
        return (uv, "pip", "install", "--quiet", "--python", str(place / "bin" / "python"))
    venv.create(place, with_pip=True)
    return (str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


def package_chart(into: Path) -> Path:
    """Check the chart by Helm's own rules, and package it."""
    with tempfile.TemporaryDirectory(prefix="jobflow-helm-") as home:
        helm = Helm(ensure_helm(lambda line: print(line, file=sys.stderr)), Path(home))
        helm("lint", "--strict", str(CHART))
        helm("package", str(CHART), "--destination", str(into))
    return into / f"jobflow-{__version__}.tgz"


def bill_of_materials(lock: str) -> dict[str, Any]:
    """The locked packages with their hashes, as CycloneDX has it. The same lock always makes the same list."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "jobflow",
                "name": "jobflow",
                "version": __version__,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": list(components(lock)),
    }


def components(lock: str) -> Iterator[dict[str, Any]]:
    """Each package of a lock file: `name==version ; marker \\` and a line for each hash."""
    for entry in re.split(r"\n(?=[a-z0-9])", lock.replace("\\\n", " ")):
        named = re.match(r"([a-z0-9._-]+)==([^\s;]+)", entry)
        if named:
            purl = f"pkg:pypi/{named[1]}@{named[2]}"
            yield {
                "type": "library",
                "bom-ref": purl,
                "name": named[1],
                "version": named[2],
                "purl": purl,
                # One for each wheel that an installer may choose, and one for the sources.
                "properties": [
                    {"name": "jobflow:sha256", "value": found}
                    for found in re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)
                ],
            }


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command with no settings of ours around; raises Wrong with what it said."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JOBFLOW_", "PYTHON"))}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and check a release; 0 if it is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.release", description="Make and check a release.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where it goes (default: dist)")
    try:
        made = release(parser.parse_args(arguments).into)
    except (Wrong, AssertionError) as wrong:
        print(wrong, file=sys.stderr)
        return 1
    for file in made:
        print(f"{file} ({file.stat().st_size // 1024 or 1} KiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
