"""What a Job's containers would do, read from their commands: how long they take, and whether they fail.

A template cannot pass annotations to its Jobs, so the commands steer the player, in the words that would do the same in
a real container:

| command                                                 | the Job                                   |
|---------------------------------------------------------|-------------------------------------------|
| `["sleep", "3"]`, also `0.5`, `10s`, `2m`, `1h`         | runs that long                            |
| `["sleep", "infinity"]`                                 | runs for ever                             |
| `["false"]`, `["exit", "1"]`                            | fails                                     |
| `["sh", "-c", "sleep 2; exit 3"]`, also with `&&`      | runs 2 s, then fails                      |
| anything else                                           | takes no time of its own, and succeeds    |

`command` and `args` count as one. The containers of all tasks run side by side: the longest one decides how long, any
failure fails the Job. Where no command sleeps, the Job runs as long as the player's own setting says.
"""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHELLS = frozenset({"sh", "bash", "ash", "dash"})
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SEPARATORS = frozenset({";", "&&", "||", "&", "|", "\n"})


@dataclass(frozen=True, slots=True)
class Script:
    """How long a Job runs (None: its commands do not say) and how it ends."""

    seconds: float | None = None
    fails: bool = False


def read_script(commands: Iterable[Sequence[str]]) -> Script:
    """Return what containers with these commands do together."""
    scripts = [_of_command(words) for words in commands]
    times = [script.seconds for script in scripts if script.seconds is not None]
    return Script(max(times, default=None), any(script.fails for script in scripts))


def _of_command(words: Sequence[str]) -> Script:
    if len(words) >= 3 and _program(words[0]) in SHELLS and words[1].startswith("-") and words[1].endswith("c"):
        return _of_shell(words[2])
    return _run([(";", list(words))])


def _of_shell(text: str) -> Script:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    steps: list[tuple[str, list[str]]] = [(";", [])]
    try:
        for token in lexer:
            if token in SEPARATORS:
                steps.append((token, []))
            else:
                steps[-1][1].append(token)
    except ValueError:  # an open quote: no shell would run it either
        return Script(fails=True)
    return _run(steps)


def _run(steps: Iterable[tuple[str, list[str]]]) -> Script:
    """Walk through simple commands, each with what stands before it."""
    seconds: float | None = None
    failed = False
    for before, words in steps:
        skipped = (before == "&&" and failed) or (before == "||" and not failed)
        if not words or skipped:
            continue
        match _program(words[0]):
            case "sleep":
                pauses = [_seconds(word) for word in words[1:]]
                failed = not pauses or None in pauses
                seconds = (seconds or 0.0) + sum(pause for pause in pauses if pause is not None)
            case "exit":
                return Script(seconds, words[1:2] not in ([], ["0"]))
            case program:
                failed = program == "false"
    return Script(seconds, failed)


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _seconds(text: str) -> float | None:
    if text in {"infinity", "inf"}:
        return math.inf
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1.0)
    try:
        seconds = float(number) * unit
    except ValueError:
        return None
    return seconds if seconds >= 0 else None
