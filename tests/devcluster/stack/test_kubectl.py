"""The demo's own kubectl prints what kubectl prints."""

from typing import Any

import pytest

from devcluster.stack.kubectl import refusal


def invalid(*causes: tuple[str, str], name: str = "ml", kind: str = "JobFlow") -> dict[str, Any]:
    told = [{"field": field, "message": message} for field, message in causes]
    details = {"kind": kind, "name": name, "causes": told}
    return {"reason": "Invalid", "code": 422, "message": "the joined form", "details": details}


@pytest.mark.parametrize(
    ("status", "printed"),
    [
        pytest.param(
            invalid(("spec.flows[2].name", 'Duplicate value: "get"'), ("spec", "Required value")),
            'The JobFlow "ml" is invalid: \n* spec.flows[2].name: Duplicate value: "get"\n* spec: Required value',
            id="several causes are a list",
        ),
        pytest.param(
            invalid(("spec.flows", "Required value")),
            'The JobFlow "ml" is invalid: spec.flows: Required value',
            id="one cause stands in the line",
        ),
        pytest.param(
            invalid(("spec", "x"), ("spec", "x")), 'The JobFlow "ml" is invalid: spec: x', id="the same is said once"
        ),
        pytest.param(
            {"reason": "Invalid", "code": 422, "message": "no", "details": {}},
            "The request is invalid: no",
            id="without details the message is all",
        ),
        pytest.param(
            {"reason": "Forbidden", "code": 403, "message": 'admission webhook "w" denied the request: it runs'},
            'Error from server (Forbidden): admission webhook "w" denied the request: it runs',
            id="another reason is named",
        ),
    ],
)
def test_a_refusal_reads_as_kubectl_prints_it(status: dict[str, Any], printed: str) -> None:
    assert refusal(status) == printed
