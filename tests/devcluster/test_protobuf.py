"""Bodies in Protobuf: what kubectl sends is read, and what is no such message is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devcluster.protobuf import MAGIC, ProtobufError, decode


def field(number: int, value: bytes | str | int) -> bytes:
    """Return one field as it is on the wire; all numbers and lengths here are below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    raw = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(raw)]) + raw


def message(api_version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


def test_an_object_is_read_with_its_metadata():
    meta = field(1, "a") + field(11, field(1, "x") + field(2, "y")) + field(8, b"") + field(3, "")

    assert decode(message("v1", "Namespace", field(1, meta) + field(2, b""))) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "a", "labels": {"x": "y"}},
    }


def test_lists_keep_what_is_empty_and_bytes_become_base64():
    rule = field(1, "get") + field(2, "") + field(3, "pods")

    role = decode(message("rbac.authorization.k8s.io/v1", "Role", field(2, rule)))
    secret = decode(message("v1", "Secret", field(2, field(1, "k") + field(2, b"\x01\x02")) + field(5, 0)))

    assert role["rules"] == [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    assert (secret["data"], secret["immutable"]) == ({"k": "AQI="}, False)


def test_fields_that_nobody_knows_are_left_out():
    assert decode(message("v1", "Namespace", field(9, "x") + field(10, 7))) == {"apiVersion": "v1", "kind": "Namespace"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{}", id="another format"),
        pytest.param(message("v1", "Pod", b""), id="a kind that is not known here"),
        pytest.param(message("v1", "Namespace", field(1, "a name")[:-3]), id="cut short"),
        pytest.param(message("v1", "Namespace", field(1, 5)), id="a number where a message belongs"),
    ],
)
def test_what_is_no_message_is_refused(body: bytes):
    with pytest.raises(ProtobufError):
        decode(body)


@given(st.binary(max_size=200))
def test_garbage_is_refused_and_nothing_worse(garbage: bytes):
    for body in (MAGIC + garbage, message("v1", "Secret", garbage[:100])):
        with suppress(ProtobufError):
            decode(body)
