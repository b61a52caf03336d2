"""`python -m certs apply` and `remove`, as far as no cluster is needed: flags and exit codes."""

import pytest

from certs.__main__ import main

PLACE = ["--namespace=flow", "--secret=tls", "--ca-secret=ca", "--webhook-configuration=jobflow"]
NOBODY = ["--master=http://127.0.0.1:1", "--patience=0s"]


@pytest.mark.parametrize("command", [["apply", "--dns-name=a.flow.svc"], ["remove"]], ids=["apply", "remove"])
def test_an_api_server_that_does_not_answer_is_exit_code_1(
    command: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert main([*command, *PLACE, *NOBODY]) == 1
    assert '"msg": "not done"' in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["apply"], "--namespace is required", id="nothing"),
        pytest.param(["apply", *PLACE], "--dns-name is required", id="no names"),
        pytest.param(["apply", *PLACE, "--dns-name=two words"], "not a DNS name", id="a name that is none"),
        pytest.param(["apply", *PLACE, "--dns-name=127.0.0.300"], "not a DNS name", id="an address that is none"),
        pytest.param(["apply", *PLACE, "--dns-name=,"], "names no server", id="empty names"),
        pytest.param(["remove", *PLACE, "--ca-secret=tls"], "must not be the same", id="one Secret for both"),
    ],
)
def test_a_wrong_flag_is_exit_code_2_and_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
