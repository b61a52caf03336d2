import math

import pytest

from devcluster.player.script import Script, read_script


@pytest.mark.parametrize(
    ("command", "seconds", "fails"),
    [
        (["sleep", "3"], 3, False),
        (["/bin/sleep", "0.5"], 0.5, False),
        (["sleep", "2m", "5s"], 125, False),
        (["sleep", "1h"], 3600, False),
        (["sleep", "infinity"], math.inf, False),
        (["sleep", "soon"], 0, True),
        (["sleep"], 0, True),
        (["sleep", "-1"], 0, True),
        (["true"], None, False),
        (["false"], None, True),
        (["exit", "0"], None, False),
        (["exit", "3"], None, True),
        (["exit"], None, False),
        (["nginx", "-g", "daemon off;"], None, False),
        ([], None, False),
        (["sh", "-c", "sleep 2; exit 3"], 2, True),
        (["sh", "-c", "sleep 2 && sleep 3"], 5, False),
        (["sh", "-c", "false && sleep 3"], None, True),
        (["sh", "-c", "false || sleep 3"], 3, False),
        (["sh", "-c", "true || sleep 3"], None, False),
        (["sh", "-c", "false; echo done"], None, False),
        (["sh", "-c", "exit 1; sleep 9"], None, True),
        (["/bin/bash", "-ec", "echo 'sleep 9'\nsleep 1"], 1, False),
        (["sh", "-c", "echo 'open"], None, True),
        (["sh", "-c", ""], None, False),
        (["sh", "script.sh"], None, False),
    ],
)
def test_a_command_says_how_long_it_takes_and_how_it_ends(command, seconds, fails):
    assert read_script([command]) == Script(seconds, fails)


@pytest.mark.parametrize(
    ("commands", "seconds", "fails"),
    [
        pytest.param([["sleep", "1"], ["sleep", "3"], ["nginx"]], 3, False, id="the longest decides"),
        pytest.param([["sleep", "5"], ["false"]], 5, True, id="any failure fails all"),
        pytest.param([["nginx"], ["nginx"]], None, False, id="nobody says anything"),
        pytest.param([], None, False, id="no containers"),
    ],
)
def test_containers_run_side_by_side(commands, seconds, fails):
    assert read_script(commands) == Script(seconds, fails)
