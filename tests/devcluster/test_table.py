from datetime import UTC, datetime, timedelta

import pytest

from devcluster.resources import Column
from devcluster.table import age, human_duration, table

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
JOBFLOW = {
    "apiVersion": "flow.volcano.sh/v1alpha1",
    "kind": "JobFlow",
    "metadata": {"name": "ml", "creationTimestamp": "2026-11-21T11:55:00Z"},
    "status": {"state": {"phase": "Running"}, "n": 3, "half": 0.5, "ok": True, "map": {"b": 1, "a": [2]}},
}


def cells(*columns):
    return table(columns, [JOBFLOW], list_meta={}, now=NOW)["rows"][0]["cells"][1:]


def test_the_name_comes_first_and_columns_are_described():
    shown = table(
        [Column("Status", "string", ".status.state.phase")], [JOBFLOW], list_meta={"resourceVersion": "7"}, now=NOW
    )

    assert (shown["kind"], shown["apiVersion"], shown["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        {"resourceVersion": "7"},
    )
    name, status = shown["columnDefinitions"]
    assert (name["name"], name["type"], name["format"], name["priority"]) == ("Name", "string", "name", 0)
    assert status["description"] == "Custom resource definition column (in JSONPath format): .status.state.phase"
    assert shown["rows"][0]["cells"] == ["ml", "Running"]


def test_without_columns_there_is_an_age():
    shown = table([], [JOBFLOW], list_meta={}, now=NOW)

    assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Age"]
    assert shown["rows"][0]["cells"] == ["ml", "5m"]


@pytest.mark.parametrize(
    ("kind", "path", "shown"),
    [
        ("string", ".status.state.phase", "Running"),
        ("string", ".status.n", "3"),
        ("string", ".status.ok", "true"),
        ("string", ".status.map", '{"a":[2],"b":1}'),
        ("integer", ".status.n", 3),
        ("integer", ".status.half", 0),
        ("integer", ".status.ok", None),
        ("number", ".status.half", 0.5),
        ("boolean", ".status.ok", True),
        ("boolean", ".status.n", None),
        ("date", ".metadata.creationTimestamp", "5m"),
        ("date", ".status.n", None),
        ("string", ".status.missing", None),
        ("date", ".status.missing", None),
    ],
)
def test_a_cell_is_what_its_column_says_and_null_where_nothing_fits(kind, path, shown):
    assert cells(Column("X", kind, path)) == [shown]


def test_a_date_that_a_column_works_out_is_an_age_too():
    assert cells(Column("Seen", "date", cell=lambda obj: obj["metadata"]["creationTimestamp"])) == ["5m"]
    assert cells(Column("Seen", "date", cell=lambda obj: None)) == ["<unknown>"]


def test_the_name_comes_first_unless_it_has_a_column_of_its_own():
    own = table([Column("Name", "string", ".metadata.name", priority=1)], [JOBFLOW], list_meta={}, now=NOW)

    assert [(column["name"], column["priority"]) for column in own["columnDefinitions"]] == [("Name", 1)]


def test_a_column_may_work_its_cell_out():
    assert cells(Column("Keys", "integer", cell=lambda obj: len(obj["status"]))) == [5]


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        (
            "Metadata",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": JOBFLOW["metadata"]},
        ),
        ("Object", JOBFLOW),
        ("None", None),
    ],
)
def test_a_row_carries_as_much_of_its_object_as_is_asked_for(include, expected):
    assert table([], [JOBFLOW], list_meta={}, now=NOW, include=include)["rows"][0]["object"] == expected


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (190, "3m10s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (740 * 86400, "2y10d"),
        (3000 * 86400, "8y"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds, shown):
    assert human_duration(seconds) == shown


def test_a_time_that_is_none_has_no_age():
    assert age("", NOW) == "<unknown>"
    assert age("yesterday", NOW) == "<invalid>"
    assert age((NOW - timedelta(days=3)).isoformat(), NOW) == "3d"
