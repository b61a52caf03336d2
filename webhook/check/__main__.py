"""The offline check as a program: `python -m webhook check FILES...`, or `jobflow-check FILES...`."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from io import TextIOWrapper
from typing import Final, TextIO

from shared import __version__
from shared.api.names import DEFAULT_MAX_FLOWS
from webhook.check.findings import Report
from webhook.check.judging import check
from webhook.check.manifests import read_all
from webhook.check.report import for_people, for_programs, summary
from webhook.check.sarif import sarif
from webhook.check.sources import MOST_BYTES, sources
from webhook.check.tree import DEEPEST, MOST_VALUES

PROGRAM: Final = "jobflow-check"

DEFAULT_NAMESPACE: Final = "default"
"""Where kubectl puts an object that names no namespace, unless the kubeconfig says otherwise."""

INTERRUPTED: Final = 130
"""The exit code of what was ended by Control-C, as shells have it."""

MOST_FLOWS: Final = 10_000
"""What the webhook's own flag may say at most."""

DESCRIPTION: Final = """\
Say what the webhook would refuse, before anything reaches a cluster: the same rules, over JobFlows and JobTemplates in
YAML and JSON files, read as kubectl reads them. All files of a call are judged together. Other kinds are passed over.
"""

EPILOG: Final = f"""\
FILE is a file, `-` for standard input, or a directory, of which every *.yaml, *.yml and *.json is checked, those in
directories below too but for hidden ones. A Helm template is no YAML: give what `helm template` makes of it.

JobTemplates that no file has are warnings, for they may be in the cluster, and so are fields that nobody knows;
--strict makes warnings count.

Exit code: 0 nothing is wrong; 1 something is; 2 the arguments are, or a file could not be read, so that not
everything was judged.

Files of more than {MOST_BYTES >> 20} MiB are not read, nor documents of more than {MOST_VALUES} values with their
aliases written out, or nested deeper than {DEEPEST}.
"""


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Check what the arguments name, print the report to standard output, and return the exit code."""
    asked = _parser(program).parse_args(arguments)
    try:
        return _check(asked)
    except KeyboardInterrupt:
        return INTERRUPTED


def _check(asked: argparse.Namespace) -> int:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files are in it, whatever the locale
    reading = read_all(sources(asked.files), asked.namespace or DEFAULT_NAMESPACE)
    report = check(reading, max_flows=asked.max_flows, namespace=asked.namespace)
    try:
        FORMATS[asked.output](report, asked.strict, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough. Python would flush once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return report.exit_code(strict=asked.strict)


def _text(report: Report, strict: bool, out: TextIO) -> None:
    for line in for_people(report):
        print(line, file=out)
    out.flush()
    print(summary(report), file=sys.stderr)


FORMATS: Final[dict[str, Callable[[Report, bool, TextIO], None]]] = {
    "text": _text,
    "json": lambda report, strict, out: print(for_programs(report, strict=strict), file=out),
    "sarif": lambda report, strict, out: print(sarif(report, strict=strict), file=out),
}


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [FLAGS] FILE...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=120),
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="text", help="How to tell it: text (the default), json or sarif."
    )
    parser.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        help=f"The namespace of objects that name none. With it, as with kubectl, objects must not name another; "
        f"without it, it is {DEFAULT_NAMESPACE}.",
    )
    parser.add_argument(
        "--max-flows",
        type=_entries,
        default=DEFAULT_MAX_FLOWS,
        metavar="N",
        help=f"Entries that a JobFlow may have, as the webhook's flag says. Default: {DEFAULT_MAX_FLOWS}.",
    )
    parser.add_argument("--strict", action="store_true", help="Let warnings count as errors for the exit code.")
    parser.add_argument("--version", action="version", version=f"{program} {__version__}")
    return parser


def _entries(written: str) -> int:
    number = int(written) if written.isascii() and written.isdigit() else 0
    if not 1 <= number <= MOST_FLOWS:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {MOST_FLOWS}")
    return number


if __name__ == "__main__":
    sys.exit(main())
