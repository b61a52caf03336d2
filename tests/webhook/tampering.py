"""Offers reviews of every kind, and two ways to spoil them: in their bytes, and in what they say."""

import copy
import random
from typing import Any

from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from tests.support.specs import a_rich_job_spec
from tests.webhook.reviews import a_review, creation, deletion, sent, template_deletion

Review = dict[str, Any]


def a_jobtemplate() -> Review:
    """With much in it that can be judged."""
    return {**a_jobtemplate_object("get"), "spec": a_rich_job_spec()}


def a_jobflow() -> Review:
    """With every field that a JobFlow may have."""
    jobflow = a_jobflow_object("get", "train: get", phase="Running")
    jobflow["spec"]["jobRetainPolicy"] = "delete"
    jobflow["spec"]["flows"][1]["patch"] = {"jobSpec": {"minAvailable": 2}}
    jobflow["spec"]["flows"][1]["dependsOn"]["probe"] = {
        "httpGetList": [{"taskName": "t", "port": 80, "path": "/", "httpHeader": {"name": "a", "value": "b"}}],
        "tcpSocketList": [{"taskName": "t", "port": 80}],
        "taskStatusList": [{"taskName": "t", "phase": "Running"}],
    }
    return jobflow


def originals() -> list[tuple[str, Review]]:
    """A good review of every kind, each with its resource."""
    changed = a_jobtemplate()
    changed["spec"]["maxRetry"] = 7
    return [
        ("jobflows", creation("get", "train: get")),
        ("jobflows", a_review(new=a_jobflow())),
        ("jobflows", a_review("UPDATE", new=a_jobflow(), old=a_jobflow_object("get"))),
        ("jobflows", deletion(a_jobflow())),
        ("jobtemplates", a_review(new=a_jobtemplate(), resource="jobtemplates")),
        ("jobtemplates", a_review("UPDATE", new=changed, old=a_jobtemplate(), resource="jobtemplates")),
        ("jobtemplates", template_deletion("get")),
    ]


NASTY = [
    b"null",
    b"-1",
    b"1e999",
    b'"\\u0000"',
    b"{}",
    b"[[[[",
    b'"\\ud800"',
    b"\xff",
    b"9" * 400,
    b"\\",
    b'"',
    b",",
    b"}",
]

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e300,
    "",
    " ",
    "\n",
    "*",
    "-",
    "x" * 300,
    "\x00\x1b[31m\u2028",
    "\U0001f600",
    "٣",
    "1e999999999Ki",
    "-5m",
    "99999999h",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": None},
    {"name": None},
    {"a": {"b": [1, "x", {}]}},
]


def tampered(body: bytes, chance: random.Random) -> bytes:
    """The same with one to three places of it overwritten, cut out, doubled, or given another value."""
    for _ in range(chance.randint(1, 3)):
        at, to = sorted((chance.randrange(len(body) + 1), chance.randrange(len(body) + 1)))
        match chance.randrange(4):
            case 0:
                body = body[:at] + chance.choice(NASTY) + body[at + chance.randrange(8) :]
            case 1:
                body = body[:at] + body[min(to, at + 30) :]
            case 2:
                body = body[:at] + body[at : at + 40] + body[at:]
            case _:
                value = chance.choice([b"null", b"7", b'"x"', b"[]", b"{}", b"true"])
                colon = body.find(b":", at)
                body = body[: colon + 1] + value + body[body.find(b",", colon) :] if colon > 0 else body
    return body


def deranged(review: Review, chance: random.Random) -> Review:
    """The same with one to four values of it made odd, moved elsewhere, doubled or lost; it stays JSON."""
    review = copy.deepcopy(review)
    for _ in range(chance.randint(1, 4)):
        places = [*_places(review["request"])] if isinstance(review.get("request"), dict) else []
        if not places:
            return review
        parent, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del parent[key]
            case 1:
                parent[key] = [copy.deepcopy(parent[key])] * chance.randint(1, 3)
            case 2:
                other, place = chance.choice(places)
                parent[key] = copy.deepcopy(other[place])
            case _:
                parent[key] = copy.deepcopy(chance.choice(ODD))
    return review


def _places(value: Any) -> Any:
    """Every place in a value: what holds it, and its key or index there."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def spoilt(count: int, seed: int) -> Any:
    """So many spoilt reviews as they are sent, each with the resource of the path that it is sent to."""
    chance = random.Random(seed)
    good = [(resource, review, sent(review)) for resource, review in originals()]
    for i in range(count):
        resource, review, body = chance.choice(good)
        yield resource, tampered(body, chance) if i % 2 else sent(deranged(review, chance))
