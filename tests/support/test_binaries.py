"""Where the programs of the control plane are looked for, and what happens when they are not there."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import binaries
from tests.support.binaries import (
    PROGRAMS,
    NotAvailableError,
    cache_directory,
    ensure_binaries,
    find_binaries,
    locate,
    require_binaries,
)


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is installed, and the cache is empty."""
    for name in [name for name in os.environ if name.startswith(("TEST_ASSET_", "KUBEBUILDER_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CI", raising=False)


def install(path: Path, script: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_variable_wins_over_the_assets_and_the_assets_over_the_cache(tmp_path: Path) -> None:
    cached = install(cache_directory() / "etcd")
    assets = {"KUBEBUILDER_ASSETS": str(tmp_path / "assets")}
    assert locate("etcd", assets) == cached, "assets that lack a program are no reason to do without it"

    asset = install(tmp_path / "assets" / "etcd")
    assert locate("etcd", assets) == asset

    named = install(tmp_path / "mine" / "my-etcd")
    assert locate("etcd", assets | {"TEST_ASSET_ETCD": str(named)}) == named


def test_a_variable_that_names_no_program_is_an_error_and_not_a_miss(tmp_path: Path) -> None:
    install(cache_directory() / "kube-apiserver")
    with pytest.raises(NotAvailableError, match=r"TEST_ASSET_KUBE_APISERVER names .*gone, which is no executable file"):
        locate("kube-apiserver", {"TEST_ASSET_KUBE_APISERVER": str(tmp_path / "gone")})


def test_another_version_is_another_cache() -> None:
    assert cache_directory().name.startswith("kubernetes-1.36.2-etcd-3.6.8-")
    assert cache_directory().parent.name == "jobflow-controlplane"


def test_without_the_programs_and_without_go_a_test_is_skipped_and_told_how_to_get_them() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"tests\.support\.binaries --build.*KUBEBUILDER_ASSETS"):
        require_binaries()


def test_in_ci_a_missing_program_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="must be there"):
        require_binaries()


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `go` that takes its time, notes what it builds, and builds a script; returns its notes."""
    notes = tmp_path / "built"
    building = f'sleep 0.2; for last; do :; done; echo "$last" >> {notes}; while [ "$1" != -o ]; do shift; done'
    script = f"""
    if [ "$1" = env ]; then echo "${{FAKE_GO:-go1.26.8}}"; exit; fi
    {building}
    echo "#!/bin/sh" > "$2"; echo "# ${{GOEXPERIMENT:-usual}}" >> "$2"; chmod +x "$2"
    """
    install(tmp_path / "bin" / "go", script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return notes


def test_what_is_missing_is_built_once_however_many_ask_at_the_same_time(go: Path) -> None:
    command = [sys.executable, "-m", "tests.support.binaries", "--build"]
    root = Path(binaries.__file__).parents[2]
    askers = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(3)]
    said = [asker.communicate(timeout=60)[0].decode().strip() for asker in askers]

    assert said == [str(cache_directory())] * 3
    assert len(go.read_text().splitlines()) == len(PROGRAMS)
    assert find_binaries({}).keys() == PROGRAMS.keys()


def test_only_what_is_missing_is_built(go: Path) -> None:
    for program in PROGRAMS.values():
        install(cache_directory() / program)
    (cache_directory() / "kubectl").unlink()

    ensure_binaries()

    assert go.read_text().split() == ["k8s.io/kubernetes/cmd/kubectl"]


@pytest.mark.parametrize(
    ("version", "experiment"),
    [
        pytest.param("go1.26.8", "usual", id="1.26 as it is"),
        pytest.param(
            "go1.27.1", "nojsonv2", id="1.27 without its new encoding/json, which breaks the OpenAPI document"
        ),
    ],
)
def test_the_build_suits_the_version_of_go(
    go: Path, monkeypatch: pytest.MonkeyPatch, version: str, experiment: str
) -> None:
    monkeypatch.setenv("FAKE_GO", version)
    assert experiment in ensure_binaries().kube_apiserver.read_text()


def test_a_go_that_is_too_old_is_named(go: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_GO", "go1.21.3")
    with pytest.raises(NotAvailableError, match=r"go1\.21\.3 cannot build kube-apiserver: install Go 1\.26"):
        ensure_binaries()
