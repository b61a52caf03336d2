import pytest

from devcluster.jsonpath import JSONPathError, find, parsed

OBJ = {
    "metadata": {"annotations": {"example.com/x": "note"}},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "False", "n": 1}, {"type": "Done", "status": "True", "n": 2}],
        "map": {"a": 1, "b": 2},
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".status.phase", ["Running"]),
        ("status.phase", ["Running"]),
        ("{.status.phase}", ["Running"]),
        (".status.conditions[0].type", ["Ready"]),
        (".status.conditions[-1].type", ["Done"]),
        (".status.conditions[9].type", []),
        (".status.conditions[*].type", ["Ready", "Done"]),
        (".status.conditions[0:1].type", ["Ready"]),
        (".status.conditions[?(@.type=='Done')].status", ["True"]),
        ('.status.conditions[?(@.type == "Ready")].status', ["False"]),
        (".status.conditions[?(@.n>1)].type", ["Done"]),
        (".status.conditions[?(@.type>1)].type", []),
        (".status.conditions[?(@.missing)].type", []),
        (".status.conditions[?(@.n)].type", ["Ready", "Done"]),
        (".status['phase']", ["Running"]),
        (r".metadata.annotations.example\.com/x", ["note"]),
        (".metadata.annotations['example.com/x']", ["note"]),
        (".status.map.*", [1, 2]),
        (".status.none.deeper", []),
        (".status.phase.deeper", []),
        (".", [OBJ]),
    ],
)
def test_a_path_finds_what_is_there_and_nothing_else(path, found):
    assert find(parsed(path), OBJ) == found


@pytest.mark.parametrize("path", [".a[", ".a[x]", "..", ".a[?(x)]", ".a[?(@.b==c)]"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(JSONPathError):
        parsed(path)
