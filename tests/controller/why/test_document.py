"""The answer as JSON is whole, and stays as programs know it."""

import json

from hypothesis import given

from controller.jobflow.snapshot import Snapshot
from controller.why.answer import answer
from controller.why.document import document
from controller.why.facts import Facts
from tests.controller.why.picture import a_running_jobflow, facts_of, running, snapshots

CHAIN = a_running_jobflow("get", "clean: get")


def test_it_has_these_fields_and_values() -> None:
    facts = facts_of(CHAIN, get=running(CHAIN, "get"), templates={"get"}, runs={"get": [300.0]}, unread=["Leases: no"])
    assert json.loads(document(answer(facts))) == {
        "version": 1,
        "namespace": "ml",
        "name": "etl",
        "uid": "uid-of-etl",
        "time": "2026-03-01T12:00:00Z",
        "phase": "Running",
        "progress": {"completed": 0, "total": 2},
        "signs": [],
        "causes": [
            {
                "kind": "TemplateNotFound",
                "entries": ["clean"],
                "text": 'JobTemplate "clean" does not exist; create it',
                "since": None,
                "holdsUp": 0,
                "chain": ["clean"],
                "needsSomebody": True,
            },
            {
                "kind": "Running",
                "entries": ["get"],
                "text": "",
                "since": "2026-03-01T11:57:00Z",
                "holdsUp": 1,
                "chain": ["get", "clean"],
                "needsSomebody": False,
            },
        ],
        "entries": [
            {
                "name": "get",
                "job": "etl-get",
                "state": "Running",
                "since": "2026-03-01T11:57:00Z",
                "message": "",
                "pods": {},
                "waitsFor": [],
                "readySince": None,
                "holdsUp": 1,
            },
            {
                "name": "clean",
                "job": "etl-clean",
                "state": "Waiting",
                "since": None,
                "message": "",
                "pods": {},
                "waitsFor": [
                    {
                        "kind": "Target",
                        "text": "get (Running)",
                        "target": "get",
                        "since": "2026-03-01T11:57:00Z",
                    },
                    {
                        "kind": "TemplateNotFound",
                        "text": 'JobTemplate "clean" does not exist; create it',
                        "since": None,
                    },
                ],
                "readySince": None,
                "holdsUp": 0,
            },
        ],
        "estimate": {
            "end": "2026-03-01T12:02:00Z",
            "seconds": 120.0,
            "atLeast": True,
            "path": [
                {
                    "entry": "get",
                    "state": "Running",
                    "expectedSeconds": 300.0,
                    "basis": "runs",
                    "runs": 1,
                    "elapsedSeconds": 180.0,
                    "remainingSeconds": 120.0,
                },
                {
                    "entry": "clean",
                    "state": "Waiting",
                    "expectedSeconds": 0.0,
                    "basis": "nothing",
                    "runs": 0,
                    "elapsedSeconds": 0.0,
                    "remainingSeconds": 0.0,
                },
            ],
            "unknown": ["clean"],
            "provided": ["clean (TemplateNotFound)"],
            "basis": {"runs": 1, "nothing": 1},
        },
        "unread": ["Leases: no"],
    }


@given(snapshots())
def test_every_entry_is_in_it_or_the_one_that_was_asked_for(seen: Snapshot) -> None:
    names = [flow.name for flow in seen.jobflow.flows]
    told = answer(Facts(seen))
    assert [entry["name"] for entry in json.loads(document(told))["entries"]] == names
    one = json.loads(document(answer(Facts(seen), names[0]), names[0]))
    assert [entry["name"] for entry in one["entries"]] == names[:1]
