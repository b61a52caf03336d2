"""`python -m certs` as a person runs it."""

from pathlib import Path

import pytest
from cryptography import x509

from certs.__main__ import main
from certs.files import CertificateDirectory
from certs.issue import names_of

FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_it_writes_a_ca_and_a_server_pair_into_a_new_directory(tmp_path: Path) -> None:
    made = tmp_path / "not" / "there" / "yet"
    assert main(["--dir", str(made)]) == 0
    assert sorted(contents(made)) == sorted(FILES)


def test_only_its_owner_reads_a_private_key(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    assert {name: (tmp_path / name).stat().st_mode & 0o777 for name in FILES} == {
        "ca.crt": 0o644,
        "ca.key": 0o600,
        "tls.crt": 0o644,
        "tls.key": 0o600,
    }


def test_without_names_it_is_for_this_machine(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    assert str(names_of(x509.load_pem_x509_certificate((tmp_path / "tls.crt").read_bytes()))) == (
        "localhost, 127.0.0.1, ::1"
    )


def test_run_again_it_keeps_what_serves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--dir", str(tmp_path)])
    before = contents(tmp_path)
    assert main(["--dir", str(tmp_path)]) == 0
    assert contents(tmp_path) == before
    assert "Kept the certificates" in capsys.readouterr().out


def test_another_name_renews_the_server_certificate_under_the_same_ca(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    before = contents(tmp_path)
    assert main(["--dir", str(tmp_path), "--dns", "webhook.example"]) == 0
    after = contents(tmp_path)
    assert {name for name in FILES if after[name] != before[name]} == {"tls.crt", "tls.key"}


def test_force_issues_all_anew(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    before = contents(tmp_path)
    assert main(["--dir", str(tmp_path), "--force"]) == 0
    assert all(contents(tmp_path)[name] != before[name] for name in FILES)


@pytest.mark.parametrize("broken", FILES)
def test_files_that_are_not_its_own_are_never_overwritten_unasked(
    broken: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--dir", str(tmp_path)])
    (tmp_path / broken).write_text("something of somebody's")
    before = contents(tmp_path)
    assert main(["--dir", str(tmp_path)]) == 1
    assert contents(tmp_path) == before
    said = capsys.readouterr().err
    assert broken in said
    assert "--force" in said


def test_a_server_certificate_whose_ca_is_not_there_is_not_overwritten(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    (tmp_path / "ca.crt").unlink()
    (tmp_path / "ca.key").unlink()
    before = contents(tmp_path)
    assert main(["--dir", str(tmp_path)]) == 1
    assert contents(tmp_path) == before


def test_a_key_that_belongs_to_another_certificate_is_noticed(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path / "one")])
    main(["--dir", str(tmp_path / "two")])
    (tmp_path / "one" / "tls.key").write_bytes((tmp_path / "two" / "tls.key").read_bytes())
    assert main(["--dir", str(tmp_path / "one")]) == 1


def test_what_is_written_can_be_read_back(tmp_path: Path) -> None:
    main(["--dir", str(tmp_path)])
    directory = CertificateDirectory(tmp_path)
    ca, server = directory.read_ca(), directory.read_server()
    assert ca is not None
    assert server is not None
    assert ca.fits()
    assert server.fits()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(["--days", "0"], id="no days"),
        pytest.param(["--days", "1826"], id="longer than the CA"),
        pytest.param(["--ip", "127.0.0.300"], id="no address"),
        pytest.param(["--ip", "fe80::1%eth0"], id="an address with a zone"),
        pytest.param(["--dns", "two words"], id="no DNS name"),
        pytest.param(["--dns", ""], id="an empty name"),
        pytest.param(["--dns", "-a.example"], id="a label that begins with a dash"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_written(wrong: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--dir", str(tmp_path / "new"), *wrong])
    assert stopped.value.code == 2
    assert not (tmp_path / "new").exists()


def test_a_directory_that_cannot_be_made_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["--dir", str(tmp_path / "file" / "below")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
