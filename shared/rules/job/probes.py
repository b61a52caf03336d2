"""What valid probes of containers are, as Kubernetes judges them."""

from collections.abc import Iterator
from typing import Final

from shared.api.job_spec import Container, ContainerProbe, IntOrString, JobTemplateInFull
from shared.rules.fault import Fault, FieldPath, forbidden, invalid, not_supported, required
from shared.rules.formats import is_port, is_port_name
from shared.rules.job.containers import A_PORT, all_containers, containers_of, pod_of, pod_place
from shared.rules.rule import Rule

GRACE: Final = 30
"""Seconds that a Pod has for its end where it does not say."""

SCHEMES: Final = ("HTTP", "HTTPS")
MOST: Final = 2**31 - 1


@Rule
def probes_have_one_handler(template: JobTemplateInFull) -> Iterator[Fault]:
    """A probe of a container is one of `exec`, `httpGet`, `tcpSocket` and `grpc`, and is complete."""
    for at, probe in _probes(template):
        handlers = {
            "exec": probe.exec, "httpGet": probe.http_get, "tcpSocket": probe.tcp_socket, "grpc": probe.grpc,
        }  # fmt: skip
        given = [key for key, handler in handlers.items() if handler is not None]
        if not given:
            yield required(at, "must have one of exec, httpGet, tcpSocket and grpc")
        for key in given[1:]:
            yield forbidden(at / key, f"may not be given beside {given[0]}")
        if given:
            yield from _faults_of_handler(at, probe, given[0])


@Rule
def probes_are_for_what_stays(template: JobTemplateInFull) -> Iterator[Fault]:
    """An init container has no probes and no hooks, unless it always restarts and so runs beside the others."""
    for at, container in all_containers(template):
        if "initContainers" in at.parts and container.restart_policy != "Always":
            for key, _ in _probes_of(container):
                yield forbidden(at / key, "may not be given for an init container without restartPolicy Always")
            if container.lifecycle is not None:
                yield forbidden(at / "lifecycle", "may not be given for an init container without restartPolicy Always")


@Rule
def sleeps_are_within_the_grace_period(template: JobTemplateInFull) -> Iterator[Fault]:
    """A hook that sleeps does so for at least a second, and not longer than the Pod's grace period."""
    for i, task in enumerate(template.tasks):
        pod = pod_of(task)
        grace = pod.termination_grace_period_seconds if pod else None
        most = GRACE if grace is None else grace
        for at, container in containers_of(task, pod_place(i)):
            for hook in ("postStart", "preStop"):
                handler = (container.lifecycle or {}).get(hook)
                sleep = handler.get("sleep") if isinstance(handler, dict) else None
                seconds = sleep.get("seconds") if isinstance(sleep, dict) else None
                if isinstance(seconds, int | float) and not 1 <= seconds <= most:
                    where = at / "lifecycle" / hook / "sleep" / "seconds"
                    yield invalid(
                        where, seconds, f"must be at least 1 and at most terminationGracePeriodSeconds ({most})"
                    )


@Rule
def probe_numbers_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """Times and thresholds of a probe are not negative; those of liveness and startup succeed at once."""
    for at, probe in _probes(template):
        numbers = {
            "initialDelaySeconds": probe.initial_delay_seconds,
            "timeoutSeconds": probe.timeout_seconds,
            "periodSeconds": probe.period_seconds,
            "successThreshold": probe.success_threshold,
            "failureThreshold": probe.failure_threshold,
        }
        for key, number in numbers.items():
            if number is not None and not 0 <= number <= MOST:
                yield invalid(at / key, number, f"must be between 0 and {MOST}, inclusive")
        readiness = str(at).endswith("readinessProbe")
        if not readiness and 1 < (probe.success_threshold or 1) <= MOST:
            yield invalid(at / "successThreshold", probe.success_threshold, "must be 1")
        grace = probe.termination_grace_period_seconds
        if readiness and grace is not None:
            yield forbidden(at / "terminationGracePeriodSeconds", "may not be given for a readiness probe")
        elif grace is not None and not 1 <= grace < 2**63:
            yield invalid(at / "terminationGracePeriodSeconds", grace, "must be at least 1 and within 64 bits")


RULES: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    probes_have_one_handler,
    probes_are_for_what_stays,
    sleeps_are_within_the_grace_period,
    probe_numbers_are_valid,
)


def _probes(template: JobTemplateInFull) -> Iterator[tuple[FieldPath, ContainerProbe]]:
    for at, container in all_containers(template):
        for key, probe in _probes_of(container):
            yield at / key, probe


def _probes_of(container: Container) -> Iterator[tuple[str, ContainerProbe]]:
    probes = {
        "livenessProbe": container.liveness_probe,
        "readinessProbe": container.readiness_probe,
        "startupProbe": container.startup_probe,
    }
    yield from ((key, probe) for key, probe in probes.items() if probe)


def _faults_of_handler(at: FieldPath, probe: ContainerProbe, key: str) -> Iterator[Fault]:
    if probe.exec and key == "exec" and not probe.exec.command:
        yield required(at / "exec" / "command")
    elif probe.http_get and key == "httpGet":
        yield from _faults_of_port(at / "httpGet" / "port", probe.http_get.port)
        if probe.http_get.scheme and probe.http_get.scheme not in SCHEMES:
            yield not_supported(at / "httpGet" / "scheme", probe.http_get.scheme, SCHEMES)
    elif probe.tcp_socket and key == "tcpSocket":
        yield from _faults_of_port(at / "tcpSocket" / "port", probe.tcp_socket.port)
    elif probe.grpc and key == "grpc":
        yield from _faults_of_port(at / "grpc" / "port", probe.grpc.port)


def _faults_of_port(at: FieldPath, port: IntOrString | None) -> Iterator[Fault]:
    if port is None:
        yield required(at)
    elif isinstance(port, int) and not is_port(port):
        yield invalid(at, port, A_PORT)
    elif isinstance(port, str) and not is_port_name(port):
        yield invalid(at, port, "must be a number from 1 to 65535 or the name of a port")
