"""Judge an object by a schema, in the words of the API server.

CEL rules (x-kubernetes-validations) are not evaluated: this server has no CEL interpreter. Only the API server that
is meant for real work enforces them.
"""

import json
from typing import Any

from devcluster import causes
from devcluster.resources import JSON, Cause
from devcluster.schema.compiled import Schema, compiled

MAX_SAFE = 2**53 - 1  # beyond it a JSON number is no exact integer any more


def validate(schema: JSON, obj: JSON) -> list[Cause]:
    """Return every fault of an object: types, bounds, enums, formats, required fields, and doubles in lists."""
    faults: list[Cause] = []
    root = compiled(schema)
    _validate(root, obj, "", faults)
    _find_doubles(root, obj, "", faults)
    return faults


def validate_status(schema: JSON, obj: JSON) -> list[Cause]:
    """Return every fault of the status alone, as a write to the status subresource is judged.

    Its messages name fields as seen from the status, while `field` has the whole path.
    """
    status = compiled(schema).properties.get("status")
    if status is None or "status" not in obj:
        return []
    faults: list[Cause] = []
    _validate(status, obj["status"], "", faults)
    _find_doubles(status, obj["status"], "", faults)
    return [Cause(one.reason, one.message, f"status.{one.field}" if one.field else "status") for one in faults]


def _validate(schema: Schema, value: Any, path: str, faults: list[Cause]) -> None:
    kind = kind_of(value)
    if kind == "number":
        value = float(value)  # as an integer beyond 64 bits is read
    if schema.types and not _fits(kind, value, schema):
        _report_type(schema, kind, path, faults)
    if schema.all_of or schema.any_of or schema.one_of or schema.excluded:
        _validate_combinations(schema, value, path, faults)
    if kind == "array" and schema.items is not None:
        for i, item in enumerate(value):
            _validate(schema.items, item, f"{path}[{i}]", faults)
    for check in schema.checks:
        check(value, path, faults)
    if kind == "object":
        _validate_map(schema, value, path, faults)


def _report_type(schema: Schema, kind: str, path: str, faults: list[Cause]) -> None:
    wanted, found = ",".join(schema.types), kind
    if schema.format and kind not in {"null", "string"}:
        # Where there is a format, Kubernetes compares formats: those that Go's types have.
        if kind == "array" and "string" in schema.types:
            return
        if kind != "array":
            wanted, found = schema.format, {"integer": "int64", "number": "float64"}.get(kind, "")
    faults.append(causes.wrong_type(path, found, f'{path} in body must be of type {wanted}: "{found}"'))


def _validate_map(schema: Schema, value: JSON, path: str, faults: list[Cause]) -> None:
    properties, additional = schema.properties, schema.additional
    for key, child in value.items():
        below = properties.get(key) or additional
        if below is not None and type(child) not in below.fitting:
            _validate(below, child, f"{path}.{key}" if path else key, faults)
    missing = [key for key in schema.required if key not in value]
    faults.extend(causes.required(f"{path}.{key}" if path else key) for key in missing)


def kind_of(value: Any) -> str:
    """Return what JSON calls the type of a value."""
    if value is None:
        return "null"
    kind = _KINDS.get(type(value), "object")
    return "number" if kind == "integer" and not -(2**63) <= value < 2**63 else kind


_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


def _fits(kind: str, value: Any, schema: Schema) -> bool:
    types = schema.types
    if kind in types:
        return True
    if kind == "null":
        return schema.nullable
    if kind == "integer":
        return "number" in types
    return kind == "number" and "integer" in types and abs(value) <= MAX_SAFE and float(value).is_integer()


def _validate_combinations(schema: Schema, value: Any, path: str, faults: list[Cause]) -> None:
    def judged(options: tuple[Schema, ...]) -> list[list[Cause]]:
        results = []
        for option in options:
            found: list[Cause] = []
            _validate(option, value, path, found)
            results.append(found)
        return results

    def say(words: str) -> None:
        faults.append(causes.invalid("<nil>", "", f'"{path}" {words}'))

    if schema.any_of:
        results = judged(schema.any_of)
        if all(results):
            say("must validate at least one schema (anyOf)")
            faults.extend(results[0])
    if schema.one_of:
        results = judged(schema.one_of)
        valid = sum(not found for found in results)
        if valid != 1:
            detail = f"Found {valid} valid alternatives" if valid else "Found none valid"
            say(f"must validate one and only one schema (oneOf). {detail}")
            faults.extend([] if valid else results[0])
    if schema.all_of:
        results = judged(schema.all_of)
        faults.extend(fault for found in results for fault in found)
        if any(results):
            say(f"must validate all the schemas (allOf){'. None validated' if all(results) else ''}")
    if schema.excluded and not judged((schema.excluded,))[0]:
        say("must not validate the schema (not)")


def _find_doubles(schema: Schema, value: Any, path: str, faults: list[Cause]) -> None:
    if not schema.has_unique:
        return
    if type(value) is dict:
        for key, child in value.items():
            if type(child) is not dict and type(child) is not list:
                continue
            below = schema.properties.get(key)
            if below is not None:
                _find_doubles(below, child, f"{path}.{key}" if path else key, faults)
            elif schema.additional is not None:
                _find_doubles(schema.additional, child, f"{path}[{key}]", faults)
    elif type(value) is list:
        if schema.list_type in {"set", "map"}:
            _find_doubles_in_list(schema, value, path, faults)
        if schema.items is not None:
            for i, item in enumerate(value):
                if type(item) is dict or type(item) is list:
                    _find_doubles(schema.items, item, f"{path}[{i}]", faults)


def _find_doubles_in_list(schema: Schema, value: list[Any], path: str, faults: list[Cause]) -> None:
    by_keys = schema.list_type == "map"
    if by_keys:
        strange = next((i for i, item in enumerate(value) if item is not None and type(item) is not dict), None)
        if strange is not None:
            detail = "must be an object for an array of list-type map"
            faults.append(causes.invalid(f"{path}[{strange}]", value[strange], detail))
            return
    seen: dict[str, int] = {}
    for i, item in enumerate(value):
        identity = {key: item[key] for key in schema.list_keys if key in (item or ())} if by_keys else item
        text = json.dumps(identity, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:  # said once for each value, however often it comes again
            faults.append(causes.duplicate(f"{path}[{i}]", identity))
