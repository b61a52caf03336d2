"""What makes up a release, as far as it can be checked without a package index."""

import re
from pathlib import Path

import pytest

from tests.support import release
from tests.support.helm import ROOT
from tests.support.release import Wrong, bill_of_materials, build, check_contents, check_versions

LOCK = (ROOT / "requirements.txt").read_text()


def test_one_version_stands_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    check_versions()
    monkeypatch.setattr(release, "__version__", "9.9.9")
    with pytest.raises(Wrong, match="appVersion of the chart"):
        check_versions()


def test_wheel_and_source_archive_have_what_they_should(tmp_path: Path) -> None:
    check_contents(*build(tmp_path))


def test_the_bill_of_materials_has_every_locked_package_with_its_hashes() -> None:
    packages = bill_of_materials(LOCK)["components"]
    assert len(packages) == len(re.findall(r"^[a-z0-9][^ ]*==", LOCK, re.MULTILINE))
    assert {"aiohttp", "cryptography", "uvloop"} <= {each["name"] for each in packages}
    hashes = [found for each in packages for found in each["properties"]]
    assert len(hashes) == LOCK.count("--hash=sha256:")


def test_the_image_is_made_from_the_lock_and_for_nobody_in_particular() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes" in text
    assert "USER 65532:65532" in text
    for room in release.ROOMS:
        assert f"COPY {room} /opt/jobflow/{room}" in text
    assert "\nuvloop==" in LOCK
