"""A report as SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a change."""

import json
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from shared import __version__
from webhook.check.catalogue import CATALOGUE
from webhook.check.findings import Finding, Report
from webhook.check.sources import STANDARD_INPUT

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
PROGRAM: Final = "jobflow-check"
ORDER: Final = {rule: at for at, rule in enumerate(CATALOGUE)}


def sarif(report: Report, *, strict: bool) -> str:
    """One run, with every rule that there is and a result for each finding."""
    run = {
        "tool": {"driver": {"name": PROGRAM, "version": __version__, "rules": [_rule(rule) for rule in CATALOGUE]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": report.complete, "exitCode": report.exit_code(strict=strict)}],
        "results": [_result(finding) for finding in report.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: str) -> dict[str, Any]:
    level, says = CATALOGUE[rule]
    text = " ".join(says.split())
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in rule.split("-")),
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {"text": text},
        "defaultConfiguration": {"level": level.value},
    }


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(finding.file)},
            "region": {"startLine": finding.line, "startColumn": finding.column},
        }
    }
    if finding.path:
        whose = "/".join(filter(None, (finding.kind, finding.namespace, finding.name)))
        place["logicalLocations"] = [{"name": finding.path, "fullyQualifiedName": f"{whose}: {finding.path}"}]
    text = f"{finding.path}: {finding.message}" if finding.path else finding.message
    return {
        "ruleId": finding.rule,
        "ruleIndex": ORDER[finding.rule],
        "level": finding.level.value,
        "message": {"text": text},
        "locations": [place],
    }


def _uri(file: str) -> str:
    """A URI reference, which stays relative where the file was named so: from where the check was run."""
    if file == STANDARD_INPUT:
        return "stdin"
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
