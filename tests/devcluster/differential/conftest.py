"""The same objects for the pure parts of the embedded server and for a real kube-apiserver, which is always right."""

import json
import random
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.schema import apply_defaults, prune, validate
from tests.support.binaries import require_binaries
from tests.support.kube_apiserver import KubeApiserver
from tests.support.volcano_crds import volcano_crds

JSON = dict[str, Any]
JOBFLOW_CRD = Path(__file__).parents[3] / "charts" / "jobflow" / "crds" / "flow.volcano.sh_jobflows.yaml"


@dataclass(frozen=True)
class Answer:
    """What the real server answered."""

    code: int
    body: JSON
    warnings: list[str]

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """Every fault that it told; their order is Go's, which is none."""
        return sorted((one["reason"], one.get("field", ""), one["message"]) for one in self.body["details"]["causes"])


Ask = Callable[..., Answer]


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    """Ask a real API server: method, path, body, and the body's content type."""
    with KubeApiserver(require_binaries(), controller_manager=False, crds=[volcano_crds().job, JOBFLOW_CRD]) as server:
        context = ssl.create_default_context(cafile=str(server.ca_file))
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))

        def send(method: str, path: str, body: Any, content_type: str = "application/json") -> Answer:
            headers = {"Authorization": f"Bearer {server.token}", "Content-Type": content_type}
            request = urllib.request.Request(server.url + path, json.dumps(body).encode(), headers, method=method)
            try:
                with opener.open(request) as response:
                    return Answer(response.status, json.load(response), response.headers.get_all("Warning") or [])
            except urllib.error.HTTPError as error:
                return Answer(error.code, json.load(error), [])

        yield send


@dataclass(frozen=True)
class Kind:
    """A kind that both know."""

    api_version: str
    kind: str
    plural: str
    schema: JSON

    @property
    def path(self) -> str:
        """Where its objects lie."""
        return f"/apis/{self.api_version}/namespaces/default/{self.plural}"

    def judge(self, obj: JSON) -> tuple[list[str], list[tuple[str, str, str]]]:
        """Do to the object what the embedded server does; return the unknown fields and the faults."""
        unknown = prune(self.schema, obj)
        apply_defaults(self.schema, obj)
        return unknown, sorted((one.reason, one.field, one.message) for one in validate(self.schema, obj))


def kind_of(file: Path) -> Kind:
    spec = yaml.safe_load(file.read_text())["spec"]
    version = spec["versions"][0]
    api_version = f"{spec['group']}/{version['name']}"
    return Kind(api_version, spec["names"]["kind"], spec["names"]["plural"], version["schema"]["openAPIV3Schema"])


@pytest.fixture(scope="session")
def jobflows() -> Kind:
    return kind_of(JOBFLOW_CRD)


@pytest.fixture(scope="session")
def jobs() -> Kind:
    return kind_of(volcano_crds().job)


STRANGE = [
    *(0, -1, 1, 70_000, 2**31, 2**33, 10**20, 1.0, 1.5, 1e30, True, False, None),
    *("", "a", "A_", "a b", "x" * 64, "50%", "1h", "2026-11-21T12:00:00Z", "delete", "soft", "*"),
    *([], {}, [None], ["a"], [{}], {"a": 1}, [{"name": "a"}, {"name": "a"}], [{"name": "a"}, {"name": "a"}, 1]),
]

PLAIN = {"string": ["a", "b", "abc", "x-y", ""], "integer": [1, 2, 3, 5], "boolean": [True, False]}


def something_like(schema: JSON, dice: random.Random, depth: int = 0) -> Any:
    """Make up a value that mostly fits a schema, and now and then does not."""
    kind = schema.get("type")
    if dice.random() < 0.03 or (kind not in PLAIN and kind not in {"object", "array"}):
        return json.loads(json.dumps(dice.choice(STRANGE)))
    if "enum" in schema and dice.random() < 0.9:
        return dice.choice(schema["enum"])
    if kind == "object":
        return _object_like(schema, dice, depth)
    if kind == "array":
        fewest = 0 if dice.random() < 0.2 else 1
        return [something_like(schema.get("items", {}), dice, depth + 1) for _ in range(dice.randint(fewest, 3))]
    return dice.choice(PLAIN[kind])


def _object_like(schema: JSON, dice: random.Random, depth: int) -> JSON:
    properties = schema.get("properties", {})
    names = [name for name in schema.get("required", ()) if dice.random() < 0.97]
    names += dice.sample(list(properties), min(len(properties), dice.randint(0, 5 if depth < 3 else 2)))
    made = {name: something_like(properties.get(name, {}), dice, depth + 1) for name in names}
    if isinstance(schema.get("additionalProperties"), dict):
        for name in dice.sample(["a", "b", "c"], dice.randint(0, 2)):
            made[name] = something_like(schema["additionalProperties"], dice, depth + 1)
    if dice.random() < 0.05:
        made[f"bogus{dice.randint(0, 2)}"] = json.loads(json.dumps(dice.choice(STRANGE)))
    return made
