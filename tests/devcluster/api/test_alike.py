"""Whatever is asked, in whatever order, the embedded server and a real one answer alike.

Random stories of requests are told to both. Compared is all of each answer, but for what must differ: uids, versions
and times.
"""

import json
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.devcluster.api.client import APPLY, JSON, JSON_PATCH, MERGE, Answer, Api, a_widget
from tests.devcluster.api.conftest import REAL

Request = Callable[[Api], Awaitable[Answer]]

NAMES = ("a", "b", "Not-a-name")
SPECS: tuple[JSON, ...] = (
    {},
    {"size": 1},
    {"size": 77},
    {"size": "big"},
    {"size": None},
    {"size": 2, "color": "red"},
    {"color": "blue", "parts": [{}]},
    {"parts": [{"name": "x", "count": 1}, {"name": "y"}]},
    {"unknown": 1, "free": {"x": [1, {"y": None}]}},
    {"free": {"deep": {"a": 1}}},
)
METADATA: tuple[JSON, ...] = (
    {},
    {"labels": {"x": "y"}},
    {"labels": {"x": "z", "w": "1"}, "annotations": {"note": "text"}},
    {"labels": {"bad key!": "x"}},
    {"labels": {"x": "bad value!"}},
    {"finalizers": ["tests.example/hold"]},
    {"finalizers": ["tests.example/hold", "plain"]},
    {"finalizers": []},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}]},
)
STATUSES: tuple[JSON, ...] = ({}, {"phase": "Begun"}, {"phase": "Done", "count": 3}, {"count": "many"}, {"other": 1})
PATCHES: tuple[list[JSON], ...] = (
    [{"op": "add", "path": "/spec/color", "value": "green"}],
    [{"op": "remove", "path": "/spec/color"}],
    [{"op": "test", "path": "/spec/size", "value": 1}, {"op": "replace", "path": "/spec/size", "value": 2}],
    [{"op": "add", "path": "/metadata/labels/x", "value": "y"}],
    [{"op": "add", "path": "/metadata/finalizers", "value": ["tests.example/hold"]}],
    [{"op": "remove", "path": "/metadata/finalizers"}],
    [{"op": "nonsense", "path": "/spec"}],
)
VALIDATIONS = ("Ignore", "Warn", "Strict")


class Story:
    """Random requests, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def next(self) -> tuple[str, Request]:
        """Return the next request and what it is called."""
        often = (self.create, self.merge, self.apply, self.status)
        return self.dice.choice(
            (*often, *often, self.update, self.json_patch, self.delete, self.release, self.collect, self.list)
        )()

    def widget(self) -> JSON:
        """Return some widget."""
        name, dice = self.dice.choices(NAMES, (5, 3, 1))[0], self.dice
        body = a_widget(name, **dice.choice(SPECS))
        body["metadata"] |= dice.choice(METADATA)
        # No status of another type where it is ignored: a real server then forgets who owns which field.
        ignored = [status for status in STATUSES if status.get("count") != "many"]
        return body | ({"status": dice.choice(ignored)} if dice.random() < 0.2 else {})

    def options(self) -> dict[str, str]:
        """Return some query."""
        dry = {"dryRun": "All"} if self.dice.random() < 0.1 else {}
        return dry | {"fieldValidation": self.dice.choice(VALIDATIONS), "fieldManager": self.dice.choice(("me", "you"))}

    def create(self) -> tuple[str, Request]:
        body, options = self.widget(), self.options()
        return f"create {body} {options}", lambda api: api.post(api.widgets, body, **options)

    def update(self) -> tuple[str, Request]:
        body, options, version = self.widget(), self.options(), self.dice.choice(("", "1", "current", "current"))

        async def request(api: Api) -> Answer:
            path = f"{api.widgets}/{body['metadata']['name']}"
            now = (await api.get(path)).body.get("metadata", {}).get("resourceVersion", "1")
            sent = json.loads(json.dumps(body))
            sent["metadata"]["resourceVersion"] = now if version == "current" else version
            return await api.put(path, sent, **options)

        return f"update {body} {options} at {version or 'no'} version", request

    def merge(self) -> tuple[str, Request]:
        body, options = self.widget(), self.options()
        name = body["metadata"].pop("name")
        return f"merge {name} {body} {options}", lambda api: api.patch(f"{api.widgets}/{name}", body, MERGE, **options)

    def json_patch(self) -> tuple[str, Request]:
        name, body, options = self.dice.choice(NAMES[:2]), self.dice.choice(PATCHES), self.options()
        return f"patch {name} {body} {options}", lambda api: api.patch(
            f"{api.widgets}/{name}", body, JSON_PATCH, **options
        )

    def status(self) -> tuple[str, Request]:
        body, options = self.widget() | {"status": self.dice.choice(STATUSES)}, self.options()
        if body["spec"] == {"size": "big"}:
            del body["spec"]  # as above
        name = body["metadata"].pop("name")
        path = f"{name}/status"
        return f"status {name} {body} {options}", lambda api: api.patch(f"{api.widgets}/{path}", body, MERGE, **options)

    def apply(self) -> tuple[str, Request]:
        body, options = self.widget(), self.options() | {"force": self.dice.choice(("true", "false"))}
        name = body["metadata"]["name"]
        return f"apply {body} {options}", lambda api: api.patch(f"{api.widgets}/{name}", body, APPLY, **options)

    def delete(self) -> tuple[str, Request]:
        name, dice = self.dice.choice(NAMES[:2]), self.dice
        body: JSON = dice.choice(({}, {}, {"preconditions": {"uid": "x"}}, {"preconditions": {"resourceVersion": "1"}}))
        body = body | dice.choice(({}, {"propagationPolicy": "Background"}, {"propagationPolicy": "Sideways"}))
        return f"delete {name} {body}", lambda api: api.delete(f"{api.widgets}/{name}", body)

    def release(self) -> tuple[str, Request]:
        name = self.dice.choice(NAMES[:2])
        body = {"metadata": {"finalizers": None}}
        return f"release {name}", lambda api: api.patch(f"{api.widgets}/{name}", body, MERGE)

    def collect(self) -> tuple[str, Request]:
        selector = self.dice.choice(("x=y", "w", "!x"))
        return f"delete all with {selector}", lambda api: api.delete(api.widgets, labelSelector=selector)

    def list(self) -> tuple[str, Request]:
        return "list", lambda api: api.get(api.widgets)


ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def comparable(answer: Answer, api: Api) -> Any:
    """Return an answer without what two servers cannot have in common."""
    text = re.sub(ID, "UID", json.dumps(answer.body, sort_keys=True))
    body = json.loads(re.sub(rf"\b{api.namespace}\b", "NS", text))
    for obj in (body, *body.get("items", ())):
        meta = obj.get("metadata", {})
        for key in ("resourceVersion", "creationTimestamp", "deletionTimestamp", "continue", "remainingItemCount"):
            if key in meta:
                meta[key] = "..."
        for entry in meta.get("managedFields", ()):
            entry["time"] = "..."
        meta.get("managedFields", []).sort(key=str)  # they are in order of time, which is in whole seconds
        meta.pop("continue", None)
    if body.get("reason") == "Invalid" and (body.get("details") or {}).get("causes"):
        del body["message"]  # it lists the causes, which have no order, and a real server tells some twice
    if "message" in body:
        body["message"] = re.sub(r"\(\d+\)", "(N)", body["message"])
    causes = (body.get("details") or {}).get("causes")
    if causes:
        for cause in causes:
            if cause.get("field") == "patch":  # the patched object, versions and times and all
                cause["message"] = cause["message"].rpartition('}": ')[2]
        body["details"]["causes"] = sorted({json.dumps(cause, sort_keys=True) for cause in causes})
    return {"code": answer.code, "body": body, "warnings": sorted(set(answer.warnings))}


@pytest.mark.real
@pytest.mark.xdist_group("real API server")
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("api", [REAL], indirect=True)
async def test_a_story_is_the_same_on_both(api: Api, embedded: Api, seed: int) -> None:
    story = Story(seed)
    told = []
    for _ in range(60):
        name, request = story.next()
        told.append(name)
        real, ours = comparable(await request(api), api), comparable(await request(embedded), embedded)
        assert ours == real, "\n".join([f"embedded {ours}", f"real     {real}", *told[-8:]])
