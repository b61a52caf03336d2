import pytest

from devcluster.schema import prune, validate, validate_status

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def faults(schema, value):
    """The faults of one field `x` of this schema."""
    found = validate({"type": "object", "properties": {"x": schema}}, {"x": value})
    return [(one.reason.removeprefix("FieldValue"), one.field, one.message) for one in found]


@pytest.mark.parametrize(
    ("schema", "value", "reason", "message"),
    [
        pytest.param(
            NUMBER,
            "a",
            "TypeInvalid",
            'Invalid value: "string": x in body must be of type integer: "string"',
            id="type",
        ),
        pytest.param(
            TEXT, None, "TypeInvalid", 'Invalid value: "null": x in body must be of type string: "null"', id="null"
        ),
        pytest.param(
            NUMBER,
            True,
            "TypeInvalid",
            'Invalid value: "boolean": x in body must be of type integer: "boolean"',
            id="bool",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            [],
            "TypeInvalid",
            'Invalid value: "array": x in body must be of type integer,string: "array"',
            id="int or string",
        ),
        pytest.param(
            {**TEXT, "enum": ["retain", "delete"]},
            "keep",
            "NotSupported",
            'Unsupported value: "keep": supported values: "retain", "delete"',
            id="enum",
        ),
        pytest.param(
            {**TEXT, "minLength": 1},
            "",
            "Invalid",
            'Invalid value: "": x in body should be at least 1 chars long',
            id="short",
        ),
        pytest.param({**TEXT, "maxLength": 2}, "abc", "TooLong", "Too long: may not be more than 2 bytes", id="long"),
        pytest.param(
            {**TEXT, "pattern": "^[a-z]+$"},
            "A1",
            "Invalid",
            "Invalid value: \"A1\": x in body should match '^[a-z]+$'",
            id="pattern",
        ),
        pytest.param(
            {**NUMBER, "minimum": 0},
            -1,
            "Invalid",
            "Invalid value: -1: x in body should be greater than or equal to 0",
            id="minimum",
        ),
        pytest.param(
            {**NUMBER, "minimum": 0, "exclusiveMinimum": True},
            0,
            "Invalid",
            "Invalid value: 0: x in body should be greater than 0",
            id="exclusive minimum",
        ),
        pytest.param(
            {**NUMBER, "maximum": 65535},
            70000,
            "Invalid",
            "Invalid value: 70000: x in body should be less than or equal to 65535",
            id="maximum",
        ),
        pytest.param(
            {**NUMBER, "multipleOf": 5},
            7,
            "Invalid",
            "Invalid value: 7: x in body should be a multiple of 5",
            id="multiple",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "minItems": 1},
            [],
            "Invalid",
            "Invalid value: 0: x in body should have at least 1 items",
            id="few items",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "maxItems": 1},
            ["a", "b"],
            "TooMany",
            "Too many: 2: must have at most 1 item",
            id="many items",
        ),
        pytest.param(
            {"type": "object", "maxProperties": 1, "additionalProperties": TEXT},
            {"a": "1", "b": "2"},
            "TooMany",
            "Too many: 2: must have at most 1 item",
            id="many properties",
        ),
        pytest.param(
            {**TEXT, "format": "date-time"},
            "yesterday",
            "TypeInvalid",
            'Invalid value: "yesterday": x in body must be of type date-time: "yesterday"',
            id="format",
        ),
    ],
)
def test_a_value_that_breaks_the_schema_is_told_in_the_words_of_kubernetes(schema, value, reason, message):
    assert faults(schema, value) == [(reason, "x", message)]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param(NUMBER, 3.0, id="a whole number is an integer, however it is written"),
        pytest.param({"type": "number"}, 3, id="an integer is a number"),
        pytest.param({"x-kubernetes-int-or-string": True}, "50%", id="a string where int or string is"),
        pytest.param({**TEXT, "nullable": True}, None, id="a null that may be"),
        pytest.param({**TEXT, "pattern": "b"}, "abc", id="a pattern matches anywhere"),
        pytest.param({**TEXT, "pattern": r"^[[:alpha:]]+$"}, "abc", id="a POSIX class"),
        pytest.param({**TEXT, "maxLength": 2}, "äö", id="length counts characters"),
        pytest.param({**TEXT, "format": "moon-phase"}, "x", id="an unknown format says nothing"),
        pytest.param({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": None}, id="anything goes"),
        pytest.param({**TEXT, "x-kubernetes-validations": [{"rule": "false"}]}, "x", id="CEL rules are not evaluated"),
    ],
)
def test_a_value_that_fits_has_no_fault(schema, value):
    assert faults(schema, value) == []


def test_a_pattern_that_ends_in_a_dollar_takes_no_line_break():
    assert faults({**TEXT, "pattern": "^[a-z]+$"}, "abc\n") != []


def test_true_is_not_one():
    assert faults({"enum": [1]}, True) != []


def test_an_integer_has_the_size_of_its_format():
    [(reason, field, message)] = faults({**NUMBER, "format": "int32"}, 2**31)

    assert (reason, field) == ("Invalid", "<nil>")
    assert message == 'Invalid value: "": Checked value must be of type integer with format int32 in x'


def test_a_fraction_is_no_integer():
    assert faults(NUMBER, 1.5) == [
        ("TypeInvalid", "x", 'Invalid value: "number": x in body must be of type integer: "number"'),
        ("Invalid", "<nil>", 'Invalid value: "": Checked value must be of type integer (default format) in x'),
    ]


@pytest.mark.parametrize(
    ("value", "found"),
    [(1.5, "float64"), (10**20, "float64"), (True, ""), ({}, "")],
    ids=["fraction", "huge", "bool", "object"],
)
def test_where_there_is_a_format_types_are_told_by_their_formats(value, found):
    message = f'Invalid value: "{found}": x in body must be of type int32: "{found}"'

    assert ("TypeInvalid", "x", message) in faults({**NUMBER, "format": "int32"}, value)


def test_bounds_are_written_as_the_value_is():
    assert "less than or equal to 2147483647" in faults({**NUMBER, "maximum": 2**31 - 1}, 2**40)[0][2]
    assert "Invalid value: 1e+20: x in body should be less than or equal to 2.147483647e+09" in str(
        faults({**NUMBER, "maximum": 2**31 - 1}, 10**20)
    )


def test_a_required_field_is_told_by_its_own_path():
    schema = {
        "type": "object",
        "properties": {"flows": {"type": "array", "items": {"type": "object", "required": ["name"]}}},
    }

    [fault] = validate(schema, {"flows": [{"name": "a"}, {}]})

    assert (fault.reason, fault.message, fault.field) == ("FieldValueRequired", "Required value", "flows[1].name")


def test_every_fault_is_told_at_once():
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {"a": NUMBER, "b": {"type": "object", "additionalProperties": NUMBER}},
    }

    found = validate(schema, {"a": "x", "b": {"c": "y", "d": 1}})

    assert [one.field for one in found] == ["a", "b.c", "spec"]


@pytest.mark.parametrize(
    ("schema", "value", "field", "shown"),
    [
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            [{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "a"}],
            "x[2]",
            '{"name":"a"}',
            id="by one key, told once",
        ),
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
            [{"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "UDP"}],
            "x[2]",
            '{"port":1,"protocol":"UDP"}',
            id="by two keys",
        ),
        pytest.param({"x-kubernetes-list-type": "set"}, ["a", "b", "a"], "x[2]", '"a"', id="in a set"),
    ],
)
def test_entries_that_stand_twice_are_told(schema, value, field, shown):
    assert faults({"type": "array", **schema}, value) == [("Duplicate", field, f"Duplicate value: {shown}")]


def test_a_list_without_a_type_may_hold_doubles():
    assert faults({"type": "array", "items": TEXT}, ["a", "a"]) == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param(
            {"anyOf": [{"minimum": 5}, {"maximum": 1}]}, 3, '"x" must validate at least one schema (anyOf)', id="any of"
        ),
        pytest.param(
            {"oneOf": [{"minimum": 1}, {"maximum": 5}]},
            3,
            '"x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            id="one of",
        ),
        pytest.param({"not": {"enum": [3]}}, 3, '"x" must not validate the schema (not)', id="not"),
        pytest.param(
            {"allOf": [{"minimum": 1}, {"maximum": 2}]}, 3, '"x" must validate all the schemas (allOf)', id="all of"
        ),
    ],
)
def test_combined_schemas_are_judged_together(schema, value, message):
    assert f'Invalid value: "": {message}' in [text for _, _, text in faults({**NUMBER, **schema}, value)]


def test_a_status_is_judged_alone_and_told_from_its_own_point_of_view():
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "status": {"type": "object", "properties": {"phase": {**TEXT, "enum": ["Running"]}, "n": NUMBER}}
        },
    }

    found = validate_status(schema, {"status": {"phase": "Foo", "n": "x"}})

    assert [(one.field, one.message) for one in found] == [
        ("status.phase", 'Unsupported value: "Foo": supported values: "Running"'),
        ("status.n", 'Invalid value: "string": n in body must be of type integer: "string"'),
    ]


def test_a_changed_schema_is_a_new_dict_and_judged_anew():
    schema = {"type": "object", "properties": {"x": TEXT}}
    assert prune(schema, {"x": "1"}) == []

    assert prune({"type": "object", "properties": {"y": TEXT}}, {"x": "1"}) == ["x"]
