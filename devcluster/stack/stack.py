"""Start the embedded API server, the webhook over TLS and the controller, and register the one with the other.

    async with Stack(directory) as stack:
        await stack.start()
        await stack.meanwhile(something_with(stack.kubectl))

Everything that they write lies in the directory: the kubeconfig, the certificates, one log file for each program.
"""

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import aiohttp

from devcluster.resources import JSON
from devcluster.stack.kubectl import Kubectl, RefusedError
from devcluster.stack.programs import ROOT, Program, ProgramError, Programs, free_ports
from devcluster.stack.registration import webhook_configuration

LOOPBACK = "127.0.0.1"

# A JobFlow that no webhook lets pass. Refused, it shows that the API server asks ours.
NEVER_ALLOWED: JSON = {
    "apiVersion": "flow.volcano.sh/v1alpha1",
    "kind": "JobFlow",
    "metadata": {"name": "is-the-webhook-asked"},
    "spec": {"flows": []},
}

Tell = Callable[[str], None]
T = TypeVar("T")


class Stack:
    """The three programs, for as long as the `async with` lasts."""

    def __init__(self, directory: Path, port: int = 0, tell: Tell = lambda line: None) -> None:
        """Prepare, starting nothing. `tell` gets a line for each thing that is ready."""
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.kubectl: Kubectl
        self._port = port
        self._tell = tell
        self._programs = Programs()
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        await self._open.enter_async_context(self._programs)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, trace)
        self.kubeconfig.unlink(missing_ok=True)

    async def start(self) -> None:
        """Start everything, and return once a JobFlow can be created; raises ProgramError where something fails."""
        await self._start_api_server()
        webhook_port, *addresses = free_ports(5)
        webhook_health, webhook_metrics, controller_health, controller_metrics = (f"{LOOPBACK}:{p}" for p in addresses)
        webhook = self._program(
            "webhook",
            *(
                "--tls-cert-file",
                str(self.directory / "tls.crt"),
                "--tls-private-key-file",
                str(self.directory / "tls.key"),
            ),
            *("--bind-address", LOOPBACK, "--port", str(webhook_port)),
            *("--healthz-address", webhook_health, "--metrics-address", webhook_metrics),
            *("--shutdown-delay", "0s"),  # nobody here has to learn first that it leaves
        )
        controller = self._program(
            "controller",
            *("--healthz-address", controller_health, "--metrics-address", controller_metrics),
            "--leader-elect=false",  # there is no other, and a laptop that sleeps must not end this one
        )
        issue_certificates(self.directory)
        for program in (webhook, controller):
            await self._programs.start(program)
        await self._when_ready(webhook, lambda: answers(webhook_health), f"https://{LOOPBACK}:{webhook_port}")
        url, bundle = f"https://{LOOPBACK}:{webhook_port}", (self.directory / "ca.crt").read_bytes()
        await self.kubectl.apply_object(webhook_configuration(url, bundle))
        await webhook.ready(self._webhook_is_asked)
        await self._when_ready(controller, lambda: answers(controller_health), f"metrics at {controller_metrics}")

    async def meanwhile(self, work: Awaitable[T]) -> T:
        """Do some work while all programs run; raises ProgramError as soon as one of them ends."""
        return await self._programs.meanwhile(work)

    async def _start_api_server(self) -> None:
        self.kubeconfig.unlink(missing_ok=True)
        port = self._port or free_ports(1)[0]
        arguments = ["devcluster", "up", "--dir", str(self.directory), "--port", str(port)]
        server = Program("API server", arguments, self.directory / "apiserver.log")
        await self._programs.start(server)

        async def is_written() -> bool:
            return self.kubeconfig.exists()

        await server.ready(is_written)
        self.kubectl = await self._open.enter_async_context(Kubectl(self.kubeconfig))
        await self._when_ready(server, self.kubectl.is_ready, f"{self.kubectl.server}, everything in memory")

    def _program(self, name: str, *arguments: str) -> Program:
        command = [name, "--kubeconfig", str(self.kubeconfig), *arguments]
        return Program(name, command, self.directory / f"{name}.log")

    async def _when_ready(self, program: Program, asks: Callable[[], Awaitable[bool]], where: str) -> None:
        await program.ready(asks)
        self._tell(f"  {program.name:<11} is ready after {time.monotonic() - program.started:.1f} s: {where}")

    async def _webhook_is_asked(self) -> bool:
        try:
            path = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"
            await self.kubectl.request("POST", path, NEVER_ALLOWED, query="dryRun=All")
        except RefusedError as refused:
            if "spec.flows" in str(refused):
                return True
            raise ProgramError(f"the API server cannot ask the webhook: {refused}") from refused
        return False


async def answers(address: str) -> bool:
    """Say whether the program that listens there says that it is ready."""
    timeout = aiohttp.ClientTimeout(total=5)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(f"http://{address}/readyz") as answer:
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


def issue_certificates(directory: Path) -> None:
    """Let `python -m certs` write the webhook's certificates."""
    command = [sys.executable, "-m", "certs", "--dir", str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramError(f"python -m certs ended with exit code {done.returncode}: {done.stderr.strip()}")
