"""`python -m controller why`, and the console script `jobflow-why`: why does a JobFlow not get on?

Exit codes: 0 where there was an answer, 1 where there is no such JobFlow or entry, 2 for wrong usage and where the API
server cannot be reached or does not let itself be read.
"""

import argparse
import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NoReturn

from shared import __version__
from shared.api.meta import Key

PROGRAM: Final = "jobflow-why"
WIDTH_ELSEWHERE: Final = 120
"""Columns where nobody says how many there are: in a file or a pipe."""

DESCRIPTION: Final = """\
Say why a JobFlow is where it is: the few things that hold everything up, what waits for what, and when it may end.

Reads, and writes nothing. Needs get of jobflows.flow.volcano.sh, and list of jobtemplates.flow.volcano.sh and
jobs.batch.volcano.sh; says more with list of events and of leases.coordination.k8s.io.
"""

EPILOG: Final = """\
examples:
  jobflow-why ml/diamond               all of the JobFlow diamond in the namespace ml
  jobflow-why -n ml diamond publish    its entry publish
  jobflow-why ml/diamond -o tree       what waits for what
  jobflow-why ml/diamond -o json       everything, for programs
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, without the usage that argparse puts before it."""
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(2)


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Answer, and return the exit code."""
    asked = _arguments(sys.argv[1:] if argv is None else argv)
    # What is amiss is said in one line; what libraries would log beside it is of no use to whoever asks.
    logging.disable(logging.CRITICAL)
    # What it takes to ask is loaded only now, so that --help and a wrong flag are answered at once.
    from controller.why.look import NoJobFlow  # noqa: PLC0415
    from shared.kube.config import ConfigError  # noqa: PLC0415
    from shared.kube.errors import ApiError, Forbidden, Unauthorized  # noqa: PLC0415

    try:
        sys.stdout.write(asyncio.run(_answer(asked, environ)))
        sys.stdout.flush()
    except (NoJobFlow, _NoEntry) as missing:
        return _complain(str(missing), 1)
    except ConfigError as wrong:
        return _complain(str(wrong), 2)
    except (Forbidden, Unauthorized) as refused:
        return _complain(f"may not read what an answer is made from: {refused.message}", 2)
    except ApiError as wrong:
        return _complain(f"the API server cannot be asked: {wrong}", 2)
    except BrokenPipeError:
        # Whoever reads has heard enough (`| head`); Python must not complain about it at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


class _NoEntry(Exception):
    """The JobFlow has no entry of that name."""


async def _answer(asked: argparse.Namespace, environ: Mapping[str, str]) -> str:
    from controller.why.answer import answer  # noqa: PLC0415
    from controller.why.document import document  # noqa: PLC0415
    from controller.why.look import look  # noqa: PLC0415
    from controller.why.text import page  # noqa: PLC0415
    from controller.why.tree import ASCII, LINES, tree  # noqa: PLC0415
    from shared.kube.client import KubeClient  # noqa: PLC0415
    from shared.kube.config import namespace_of  # noqa: PLC0415

    client = await KubeClient.connect(
        PROGRAM,
        kubeconfig=asked.kubeconfig or None,
        master=asked.master,
        proxy_from_environment=asked.kube_api_proxy_from_env,
        environ=environ,
    )
    try:
        key = Key(asked.namespace or namespace_of(asked.kubeconfig, environ), asked.name)
        facts = await look(client, key, lambda: datetime.now(UTC))
    finally:
        await client.close()
    entry = _entry(asked.entry, key, [flow.name for flow in facts.jobflow.flows])
    told = answer(facts, entry)
    if asked.output == "json":
        return document(told, entry)
    if asked.output == "tree":
        return tree(told, strokes=LINES if "utf" in (sys.stdout.encoding or "").lower() else ASCII)
    width = asked.width or shutil.get_terminal_size((WIDTH_ELSEWHERE, 40)).columns
    return page(told, entry, width=width)


def _entry(wanted: str | None, jobflow: Key, names: Sequence[str]) -> str | None:
    """The entry that is asked about, by its name or that of its Job. Raises _NoEntry."""
    from shared.rules.near_miss import Lexicon  # noqa: PLC0415

    if wanted is None or wanted in names:
        return wanted
    of_job = wanted.removeprefix(f"{jobflow.name}-")
    if of_job in names:
        return of_job
    near = Lexicon(names).nearest(wanted)
    meant = f"; did you mean {near}?" if near else ""
    raise _NoEntry(f'JobFlow {jobflow} has no entry "{wanted}"{meant}')


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} NAMESPACE/NAME [ENTRY] [FLAGS]",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "jobflow",
        metavar="NAMESPACE/NAME",
        help="the JobFlow; NAMESPACE/ may be left out",
    )
    parser.add_argument("entry", metavar="ENTRY", nargs="?", help="one of its entries, or the Job of one")
    parser.add_argument("-n", "--namespace", metavar="NAMESPACE", help="its namespace (default: the kubeconfig's)")
    parser.add_argument(
        "-o", "--output", choices=("text", "tree", "json"), default="text", help="how to say it (default: text)"
    )
    parser.add_argument("--width", type=int, metavar="N", help="columns of text (default: the terminal's)")
    parser.add_argument(
        "--kubeconfig", default="", metavar="FILE", help="the kubeconfig (default: as kubectl finds it)"
    )
    parser.add_argument("--master", default="", metavar="URL", help="the API server, in place of the kubeconfig's")
    parser.add_argument(
        "--kube-api-proxy-from-env", action="store_true", help="reach it through the proxy that HTTPS_PROXY says"
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    asked = parser.parse_args(argv)
    namespace, slash, name = asked.jobflow.rpartition("/")
    if slash and asked.namespace not in (None, namespace):
        parser.error(f"-n {asked.namespace} and {asked.jobflow} are not the same namespace")
    if "/" in namespace or not name or (slash and not namespace):
        parser.error(f"{asked.jobflow!r} is no NAMESPACE/NAME")
    asked.name, asked.namespace = name, namespace or asked.namespace
    return asked


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"{PROGRAM}: {message}\n")
    return code


def run() -> NoReturn:
    """The console script."""
    sys.exit(main())
