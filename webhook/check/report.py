"""A report for people, line by line, and for programs, as one JSON document."""

import json
from collections.abc import Iterator
from typing import Any

from webhook.check.catalogue import UNREADABLE
from webhook.check.findings import Finding, Level, Report


def for_people(report: Report) -> Iterator[str]:
    """A line for each finding: `file:line: path: message`, with `warning:` before the path where it is one.

    A file that cannot be read has `file:line:column: message`.
    """
    for finding in report.findings:
        where = f"{finding.file}:{finding.line}"
        if finding.rule == UNREADABLE:
            yield f"{where}:{finding.column}: {finding.message}"
        else:
            level = "warning: " if finding.level is Level.WARNING else ""
            path = f"{finding.path}: " if finding.path else ""
            yield f"{where}: {level}{path}{finding.message}"


def summary(report: Report) -> str:
    """What was looked at, and how much is wrong with it, in one line."""
    looked_at = (
        f"{_count(report.jobflows, 'JobFlow')} and {_count(report.jobtemplates, 'JobTemplate')} "
        f"in {_count(report.files, 'file')}"
    )
    errors, warnings = (report.count(level) for level in (Level.ERROR, Level.WARNING))
    return f"{looked_at}: {_count(errors, 'error')}, {_count(warnings, 'warning')}"


def for_programs(report: Report, *, strict: bool) -> str:
    """One JSON document.

    `version` changes when a field changes its meaning or goes; new fields may come at any time. In `findings`, `line`
    and `column` count from 1; `rule` is the id that the README's table has, `path` the field and `reason` the
    `reason` of a cause as the webhook answers it. Fields that have nothing to say are empty texts.
    """
    document = {
        "version": 1,
        "exitCode": report.exit_code(strict=strict),
        "summary": {
            "files": report.files,
            "jobFlows": report.jobflows,
            "jobTemplates": report.jobtemplates,
            "passedOver": report.passed_over,
            "errors": report.count(Level.ERROR),
            "warnings": report.count(Level.WARNING),
        },
        "findings": [_json(finding) for finding in report.findings],
    }
    return json.dumps(document, indent=2)


def _json(finding: Finding) -> dict[str, Any]:
    return {
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "level": finding.level.value,
        "rule": finding.rule,
        "path": finding.path,
        "message": finding.message,
        "reason": finding.reason,
        "object": {"kind": finding.kind, "namespace": finding.namespace, "name": finding.name},
    }


def _count(number: int, of: str) -> str:
    return f"{number} {of}" if number == 1 else f"{number} {of}s"
