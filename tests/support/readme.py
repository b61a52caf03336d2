"""Keeps the tables of README.md true to the code: they are made from the rules' docstrings and the programs' settings.

    python -m tests.support.readme --write    # make them anew
    python -m tests.support.readme --check    # say whether they are as they would be made

What lies between `<!-- NAME -->` and `<!-- end of NAME -->` is made; everything else is written by hand.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from controller.settings import ControllerSettings
from shared.ops.settings import Settings, _parser
from shared.rules.jobflow import ON_CREATE
from shared.rules.jobflow_update import ON_UPDATE
from shared.rules.jobtemplate import ON_JOBTEMPLATE
from webhook import guards
from webhook.check.catalogue import ONLY_HERE
from webhook.settings import WebhookSettings

README = Path(__file__).parents[2] / "README.md"


def rules_table() -> str:
    """Every rule of the webhook, as a user hears it."""
    rows = [("JobFlow, create", rule.id, rule.says) for rule in ON_CREATE]
    rows += [("JobFlow, update", rule.id, rule.says) for rule in ON_UPDATE]
    rows += [("JobTemplate, create and update", rule.id, rule.says) for rule in ON_JOBTEMPLATE]
    rows += [("delete", name, first_line(guard)) for name, guard in GUARDS.items()]
    return table(("On", "Rule", "What it says"), ((when, f"`{name}`", says) for when, name, says in rows))


def check_rules_table() -> str:
    """Every rule that only the offline check has."""
    rows = ((level.value, f"`{rule}`", says) for rule, (level, says) in ONLY_HERE.items())
    return table(("Level", "Rule", "What it says"), rows)


GUARDS: Mapping[str, Callable[..., object]] = {
    "not-while-unfinished": guards.delete_jobflow,
    "not-while-in-use": guards.delete_used_jobtemplate,
    "cannot-verify": guards.cannot_verify,
}


def flags_table(kind: type[Settings]) -> str:
    """Every flag of a program, with its default and its meaning."""
    actions = (action for action in _parser(kind, "x")._actions if action.dest not in {"help", "version"})
    rows = []
    for action in actions:
        said = re.sub(r" \[JOBFLOW_\w+\]$", "", (action.help or "").replace("%%", "%"))
        meaning, _, default = said.partition(" Default: ")
        rows.append((f"`{action.option_strings[-1]}`", f"`{default.removesuffix('.')}`" if default else "", meaning))
    return table(("Flag", "Default", "Meaning"), rows)


def first_line(function: Callable[..., object]) -> str:
    """The sentence that a docstring opens with."""
    return (function.__doc__ or "").split("\n\n")[0].strip()


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(head)
    cells = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in cells
    )


SECTIONS: Mapping[str, Callable[[], str]] = {
    "rules": rules_table,
    "rules of the check": check_rules_table,
    "flags of the webhook": lambda: flags_table(WebhookSettings),
    "flags of the controller": lambda: flags_table(ControllerSettings),
}


def made_anew(readme: str) -> str:
    """The README with all its tables as the code has them now. Raises ValueError where one has no place."""
    for name, make in SECTIONS.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if readme.count(begin) != 1 or readme.count(end) != 1:
            raise ValueError(f"README.md has no place, or several, for {name!r}")
        before, rest = readme.split(begin)
        readme = f"{before}{begin}{make()}\n{end}{rest.split(end)[1]}"
    return readme


def main() -> int:
    """Check or write, as asked; 1 where the README is not as it would be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.readme", description="Keep the README's tables true."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="say whether the tables are as they would be made")
    what.add_argument("--write", action="store_true", help="make them anew")
    asked = parser.parse_args()
    now = README.read_text()
    wanted = made_anew(now)
    if asked.write:
        README.write_text(wanted)
    elif now != wanted:
        print(
            "The tables of README.md are not as the code has them: python -m tests.support.readme --write",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
