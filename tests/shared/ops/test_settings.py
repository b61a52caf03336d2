"""Settings come from flags and environment, and what is wrong with them is one line."""

import re
from pathlib import Path

import pytest

from shared.ops.addresses import Address, parse_address
from shared.ops.settings import (
    Duration,
    ExistingFile,
    ListenAddress,
    NotNegative,
    Port,
    Positive,
    Settings,
    read_settings,
)


class Example(Settings):
    """Do something useful.

    It takes a while.
    """

    file: ExistingFile | None = None
    """What to read, 100 % of it."""

    address: ListenAddress = Address("", 11251)
    """Where to listen."""

    period: Duration = 600
    """How often."""

    kube_api_qps: NotNegative = 0
    """Requests a second."""

    workers: Positive = 1
    """How many."""

    port: Port = 443
    """Which port."""

    loud: bool = False
    """Shout."""


class Demanding(Settings):
    """Needs something."""

    source: str
    """Where from."""


def read(*argv: str, **environ: str) -> Example:
    return read_settings(Example, "jobflow-example", argv, environ)


def complaint(capsys: pytest.CaptureFixture[str], *argv: str, **environ: str) -> str:
    with pytest.raises(SystemExit) as ended:
        read(*argv, **environ)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("jobflow-example: ")
    return err.removeprefix("jobflow-example: ").removesuffix(" (see jobflow-example --help)\n")


def test_what_nobody_sets_has_its_default() -> None:
    assert read() == Example()


def test_flags_are_the_fields_in_kebab_case_with_a_space_or_an_equals_sign() -> None:
    settings = read("--kube-api-qps", "2.5", "--period=1h30m", "--address", "[::1]:80", "-v", "4", "--loud")
    assert settings.kube_api_qps == 2.5
    assert settings.period == 5400
    assert settings.address == Address("::1", 80)
    assert settings.verbosity == 4
    assert settings.loud is True


@pytest.mark.parametrize(
    ("argv", "loud"), [(["--loud"], True), (["--loud=true"], True), (["--loud=false"], False), ([], False)]
)
def test_switches_are_written_as_in_go(argv: list[str], loud: bool) -> None:
    assert read(*argv).loud is loud


def test_every_flag_is_an_environment_variable_and_the_flag_wins() -> None:
    environ = {"JOBFLOW_KUBE_API_QPS": "7", "JOBFLOW_LOUD": "true", "JOBFLOW_V": "3", "JOBFLOW_WORKERS": ""}
    settings = read("--kube-api-qps=9", **environ)
    assert (settings.kube_api_qps, settings.loud, settings.verbosity, settings.workers) == (9, True, 3, 1)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read().workers = 2


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--workers", "0"], "--workers=0: must be greater than or equal to 1"),
        (["--workers", "many"], "--workers=many: must be a whole number"),
        (["--workers"], "argument --workers: expected one argument"),
        (["--kube-api-qps=-1"], "--kube-api-qps=-1: must be greater than or equal to 0"),
        (["--kube-api-qps=nan"], "--kube-api-qps=nan: must be a finite number"),
        (["--loud=perhaps"], "--loud=perhaps: must be true or false"),
        (["--port=70000"], "--port=70000: must be less than or equal to 65535"),
        (["--period=10"], "--period=10: must be a duration such as 500ms, 30s, 10m or 1h30m"),
        (["--period=-5s"], "--period=-5s: must be greater than or equal to 0"),
        (["--file=/does/not/exist"], "--file=/does/not/exist: no such file"),
        (["--file=/"], "--file=/: is a directory; a file is needed"),
        (["--worker=2"], "unknown flag --worker, did you mean --workers?"),
        (["--nothing-like-it"], "unknown flag --nothing-like-it"),
        (["extra"], "unexpected argument 'extra'"),
        (["--workers=2\n3"], "--workers='2\\n3': must be a whole number"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_flag_and_what_would_be_right(
    capsys: pytest.CaptureFixture[str], argv: list[str], expected: str
) -> None:
    assert complaint(capsys, *argv) == expected


def test_a_wrong_variable_is_named_as_the_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, JOBFLOW_WORKERS="x") == "JOBFLOW_WORKERS=x: must be a whole number"


def test_what_must_be_given_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_settings(Demanding, "jobflow-demanding", [], {})
    assert "--source is required (or set JOBFLOW_SOURCE)" in capsys.readouterr().err


def test_a_file_that_is_there_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert read(f"--file={tmp_path / 'a'}").file == tmp_path / "a"


def test_help_tells_each_flag_its_meaning_default_and_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("--help")
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("usage: jobflow-example [FLAGS] Do something useful. It takes a while.")
    assert "--file FILE What to read, 100 % of it. [JOBFLOW_FILE]" in text
    assert "--address HOST:PORT Where to listen. Default: :11251. [JOBFLOW_ADDRESS]" in text
    assert "--period DURATION How often. Default: 10m0s. [JOBFLOW_PERIOD]" in text
    assert "--loud [true|false] Shout. Default: false. [JOBFLOW_LOUD]" in text
    assert re.search(r"-v( N)?, --v N", text)  # without the first N from Python 3.13 on


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read("--version")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("jobflow-example ")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":11251", ("", 11251)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:8081", ("::1", 8081)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_addresses_are_written_as_volcano_writes_them(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    "text", ["", "8081", ":", "a:b", "::1:80", "[::1]", "[x]:1", "a b:1", ":65536", "http://a:1", ":\u0661"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be HOST:PORT|IPv6"):
        parse_address(text)
