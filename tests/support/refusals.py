"""Keeps `docs/refusals.md` as it comes out: what kubectl prints for each rule, on a real API server with our webhook.

python -m tests.support.refusals --write    # make it anew
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from shared.rules.jobflow import ON_CREATE
from shared.rules.jobflow_update import ON_UPDATE
from shared.rules.jobtemplate import ON_JOBTEMPLATE
from tests.shared.rules.jobtemplate_cases import WRONG
from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from tests.support.cluster import running_cluster
from tests.support.kubectl import Kubectl, Object
from tests.support.readme import GUARDS, first_line
from tests.support.specs import changed

FILE = Path(__file__).parents[2] / "docs" / "refusals.md"

HEAD = """\
# What the webhook says

What `kubectl` prints for an example of each rule, taken from a Kubernetes API server with the webhook before it:
`python -m tests.support.refusals --write`. The objects are called `ml` and `train`.

What the CRD's schema refuses before the webhook is asked has the API server's own words.
"""


def with_flows(*flows: Any, **spec: Any) -> Object:
    return a_jobflow_object(name="ml", namespace="default") | {"spec": {"flows": list(flows), **spec}}


def probing(**probe: Any) -> Object:
    return with_flows({"name": "get", "dependsOn": {"probe": probe}})


def flows(*written: str) -> Object:
    return a_jobflow_object(*written, name="ml", namespace="default") | {
        "metadata": {"name": "ml", "namespace": "default"}
    }


JOBFLOWS: dict[str, Object] = {
    "has-flows": flows(),
    "not-too-many": flows(*(f"e{i}" for i in range(1001))),
    "fits-etcd": with_flows({"name": "get", "patch": {"jobSpec": {"plugins": {"env": ["x" * 1_310_000]}}}}),
    "names-are-valid": flows("Get"),
    "names-are-unique": flows("get", "train: get", "get"),
    "targets-exist": flows("prep", "train: prepp"),
    "targets-are-unique": flows("get", "train: get get"),
    "not-after-itself": flows("get: get"),
    "no-cycle": flows("a: c", "b: a", "c: b"),
    "child-names-fit": flows("x" * 60),
    "retain-policy-is-known": with_flows({"name": "get"}, jobRetainPolicy="keep"),
    "probes-are-complete": probing(httpGetList=[{"path": "/ready", "port": 80}]),
    "probe-ports-are-valid": probing(tcpSocketList=[{"taskName": "work", "port": 70000}]),
    "probe-texts-fit": probing(taskStatusList=[{"taskName": "work", "phase": "x" * 64}]),
}

STORED = flows("get", "train: get")
CHANGED = flows("get", "train")


def examples() -> Iterator[tuple[str, str, Object]]:
    """Rules of creation: id, what the rule says, and an object that breaks it."""
    yield from ((rule.id, rule.says, JOBFLOWS[rule.id]) for rule in ON_CREATE)
    for rule in ON_JOBTEMPLATE:
        place, value = WRONG[rule.id][0][:2]
        yield rule.id, rule.says, a_jobtemplate_object("train", "default", changed(place, value))


def printed(kubectl: Kubectl) -> str:
    """The whole file."""
    every = list(examples())
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda example: refusal(kubectl, "create", example[2]), every))
    parts = [HEAD, "\n## On create and, for JobTemplates, on update\n"]
    parts += [section(rule, says, words) for (rule, says, _), words in zip(every, said, strict=True)]
    kubectl.apply(STORED, a_jobtemplate_object("get", "default"))
    parts.append("\n## On update of a JobFlow\n")
    parts += [section(rule.id, rule.says, refusal(kubectl, "replace", CHANGED)) for rule in ON_UPDATE]
    parts.append("\n## On delete\n")
    for guard, kind, name in (("not-while-unfinished", "jobflow", "ml"), ("not-while-in-use", "jobtemplate", "get")):
        words = kubectl.refused("delete", kind, name, "--dry-run=server")
        parts.append(section(guard, first_line(GUARDS[guard]), words))
    return "".join(parts)


def refusal(kubectl: Kubectl, verb: str, built: Object) -> str:
    return kubectl.refused(verb, "--dry-run=server", "-f", "-", stdin=json.dumps(built))


def section(rule: str, says: str, words: str) -> str:
    return f"\n### `{rule}`\n\n{says}\n\n```\n{words.rstrip()}\n```\n"


def made() -> str:
    """The file as it comes out now, from a cluster that is started for it."""
    with tempfile.TemporaryDirectory() as directory, running_cluster("real", "ours", Path(directory)) as cluster:
        cluster.controller.stop()
        return printed(cluster.kubectl)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the file anew."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.refusals")
    parser.add_argument("--write", action="store_true", required=True, help="make docs/refusals.md anew")
    parser.parse_args(arguments)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(made())
    return 0


if __name__ == "__main__":
    sys.exit(main())
