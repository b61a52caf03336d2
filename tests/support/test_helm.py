"""Where helm is looked for."""

from pathlib import Path

import pytest

from tests.support.helm import cache, find_helm, require_helm


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is installed, and the cache is empty."""
    for name in ("TEST_ASSET_HELM", "KUBEBUILDER_ASSETS", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def install(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)
    return path


def test_a_variable_wins_over_the_cache(tmp_path: Path) -> None:
    assert find_helm({}) is None
    cached = install(cache() / "helm")
    assert find_helm({}) == cached
    mine = install(tmp_path / "mine" / "helm3")
    assert find_helm({"TEST_ASSET_HELM": str(mine)}) == mine


def test_without_helm_and_without_go_a_test_is_skipped_and_in_ci_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.skip.Exception, match="there is no Go"):
        require_helm()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="must be there"):
        require_helm()
