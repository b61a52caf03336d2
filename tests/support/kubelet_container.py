"""Plays what a kubelet does to a container that runs: it asks its probes, and ends it."""

import signal
import subprocess
import time
from collections.abc import Callable

from tests.support.kubelet_api import Object
from tests.support.programs import answers


class Probes:
    """The probes of a container: what they say, at their own pace."""

    def __init__(self, container: Object, reach: Callable[[int | str], int]) -> None:
        self._readiness = container.get("readinessProbe")
        self._liveness = container.get("livenessProbe")
        self._reach = reach
        self._next = {"readiness": 0.0, "liveness": 0.0}
        self._failures = {"readiness": 0, "liveness": 0}
        self._started = False
        self.ready = False

    def began(self) -> None:
        """The container was started: until it lives for the first time, the startup probe holds the others back."""
        self._started = False
        self._failures = dict.fromkeys(self._failures, 0)
        self.ready = self._readiness is None

    def look(self) -> bool:
        """Ask, where it is time. True if the container has to be started anew."""
        if self._readiness and self._is_time("readiness", self._readiness):
            well = self._answers(self._readiness)
            self._started = self._started or well
            self._failures["readiness"] = 0 if well else self._failures["readiness"] + 1
            if well:
                self.ready = True
            elif self._failures["readiness"] >= self._readiness.get("failureThreshold", 3):
                self.ready = False
        if self._liveness and self._started and self._is_time("liveness", self._liveness):
            well = self._answers(self._liveness)
            self._failures["liveness"] = 0 if well else self._failures["liveness"] + 1
            return self._failures["liveness"] >= int(self._liveness.get("failureThreshold", 3))
        return False

    def _is_time(self, name: str, probe: Object) -> bool:
        now = time.monotonic()
        if now < self._next[name]:
            return False
        # A kubelet asks at the probe's own pace; until it is ready, nobody here wants to wait for that.
        self._next[name] = now + (probe.get("periodSeconds", 10) if self.ready else 0.2)
        return True

    def _answers(self, probe: Object) -> bool:
        asked = probe["httpGet"]
        url = f"http://127.0.0.1:{self._reach(asked['port'])}{asked['path']}"
        return answers(url, probe.get("timeoutSeconds", 1))


class Stop:
    """The end of a container: preStop, SIGTERM, and SIGKILL once the grace period is over."""

    def __init__(
        self, process: subprocess.Popen[bytes] | None, hook: subprocess.Popen[bytes] | None, grace: float
    ) -> None:
        self._process = process
        self.hook = hook
        self._asked = False
        self._deadline = time.monotonic() + grace

    def is_over(self) -> bool:
        """Take the next step, if it is time for one; True once the process has gone."""
        if self._process is None or self._process.poll() is not None:
            return True
        if self.hook and self.hook.poll() is None and time.monotonic() < self._deadline:
            return False
        if not self._asked:
            self._asked = True
            self._process.send_signal(signal.SIGTERM)
        if time.monotonic() > self._deadline:
            self._process.kill()
            self._process.wait()
        return False
