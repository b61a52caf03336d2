"""What a valid `dependsOn.probe` is. Probes have no effect yet; what is stored must be right when they do."""

from collections.abc import Iterator
from typing import Final

from shared.api.jobflow import HTTPHeader, Probe
from shared.rules.fault import SPEC, Fault, FieldPath, invalid, required, too_long
from shared.rules.formats import is_port
from shared.rules.rule import Rule
from shared.rules.submission import Submission

LONGEST_TASK_NAME: Final = 253
"""As in Volcano's CRD."""

LONGEST_PHASE: Final = 63
"""As in Volcano's CRD, which takes any words."""


@Rule
def probes_are_complete(given: Submission) -> Iterator[Fault]:
    """A probe names its task; `httpGet` and `tcpSocket` have a port, `taskStatus` a phase, a header name and value."""
    for at, probe in _probes(given):
        for k, get in enumerate(probe.http_get_list or ()):
            yield from _missing(at / "httpGetList" / k, taskName=get.task_name, port=get.port)
            header = get.http_header
            if header and not is_no_header(header):
                yield from _missing(at / "httpGetList" / k / "httpHeader", name=header.name, value=header.value)
        for k, socket in enumerate(probe.tcp_socket_list or ()):
            yield from _missing(at / "tcpSocketList" / k, taskName=socket.task_name, port=socket.port)
        for k, status in enumerate(probe.task_status_list or ()):
            yield from _missing(at / "taskStatusList" / k, taskName=status.task_name, phase=status.phase)


@Rule
def probe_ports_are_valid(given: Submission) -> Iterator[Fault]:
    """The port of a probe is from 1 to 65535."""
    for at, probe in _probes(given):
        ports = [
            *((at / "httpGetList" / k, get.port) for k, get in enumerate(probe.http_get_list or ())),
            *((at / "tcpSocketList" / k, socket.port) for k, socket in enumerate(probe.tcp_socket_list or ())),
        ]
        for where, port in ports:
            if port is not None and not is_port(port):
                yield invalid(where / "port", port, "must be between 1 and 65535, inclusive")


@Rule
def probe_texts_fit(given: Submission) -> Iterator[Fault]:
    """A probe's `taskName` has at most 253 characters, its `phase` 63."""
    for at, probe in _probes(given):
        tasks = [
            *((at / "httpGetList" / k, get.task_name) for k, get in enumerate(probe.http_get_list or ())),
            *((at / "tcpSocketList" / k, socket.task_name) for k, socket in enumerate(probe.tcp_socket_list or ())),
            *((at / "taskStatusList" / k, status.task_name) for k, status in enumerate(probe.task_status_list or ())),
        ]
        for where, task in tasks:
            if len(task or "") > LONGEST_TASK_NAME:
                yield too_long(where / "taskName", LONGEST_TASK_NAME)
        for k, status in enumerate(probe.task_status_list or ()):
            if len(status.phase or "") > LONGEST_PHASE:
                yield too_long(at / "taskStatusList" / k / "phase", LONGEST_PHASE)


def is_no_header(header: HTTPHeader) -> bool:
    """Two empty texts are how Go's typed clients write that there is no header."""
    return not header.name and not header.value


def _probes(given: Submission) -> Iterator[tuple[FieldPath, Probe]]:
    for i, flow in enumerate(given.flows):
        if flow.depends_on and flow.depends_on.probe:
            yield SPEC / "flows" / i / "dependsOn" / "probe", flow.depends_on.probe


def _missing(at: FieldPath, **fields: str | int | None) -> Iterator[Fault]:
    """Zero is a port, a wrong one; an empty text is nothing."""
    yield from (required(at / key) for key, value in fields.items() if value is None or value == "")
