"""Every reason that a status may give is in the README, with what to do about it, and no other is."""

import re
from pathlib import Path

from controller.jobflow import explain

README = Path(__file__).parents[3] / "README.md"


def told() -> dict[str, str]:
    """The rows of the table of reasons: what to do, by reason."""
    table = README.read_text().split("| `status.state.reason` |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.+) \|$", table, re.MULTILINE)
    return dict(rows)


def given() -> set[str]:
    values = [value for name, value in vars(explain).items() if name.isupper() and not name.startswith("_")]
    return {value for value in values if isinstance(value, str) and re.fullmatch(r"([A-Z][a-z]+){2,}", value)}


def test_the_readme_tells_every_reason_that_there_is_and_what_to_do() -> None:
    assert given() == told().keys()
    assert all(told().values())
