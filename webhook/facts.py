"""What the webhook knows of the cluster, or asks it.

`Templates` is a local copy of which JobTemplates exist. It serves warnings alone, so nothing waits for it and nobody
needs it to be right. `Users` asks the API server itself, for on that answer a deletion depends.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from random import Random
from typing import Final, NoReturn

from msgspec import Struct

from shared.api.jobflow import FINISHED, State
from shared.api.meta import Key, ObjectMeta
from shared.api.names import FLOW_GROUP
from shared.kube.cache import Cache
from shared.kube.client import KubeClient
from shared.kube.errors import Unreadable
from shared.kube.reflector import Reflector
from shared.kube.resources import Resource, Unread
from shared.rules.jobflow_warnings import Room, TemplateFacts
from webhook.guards import MOST_NAMES
from webhook.known_template import KnownTemplate

PAGE: Final = 50
"""JobFlows to ask for at once: one may have a status of a megabyte."""


class NamedFlow(Struct, frozen=True, gc=False):
    """An entry of a JobFlow, as far as it uses a JobTemplate."""

    name: str = ""


class UsingSpec(Struct, frozen=True, gc=False):
    """The spec of a JobFlow, as far as it uses JobTemplates."""

    flows: tuple[NamedFlow, ...] | None = None


class UsingStatus(Struct, frozen=True, gc=False):
    """The status of a JobFlow, as far as it says whether it has finished."""

    state: State = State()


class UsingJobFlow(Struct, frozen=True, gc=False):
    """A JobFlow that may use a JobTemplate."""

    metadata: ObjectMeta = ObjectMeta()
    spec: UsingSpec = UsingSpec()
    status: UsingStatus = UsingStatus()

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.metadata.key

    def uses(self, template: str) -> bool:
        """It may yet make a Job of that JobTemplate."""
        if self.metadata.is_deleting or self.status.state.phase in FINISHED:
            return False
        return any(flow.name == template for flow in self.spec.flows or ())


TEMPLATES: Final = Resource(FLOW_GROUP, "v1alpha1", "jobtemplates", KnownTemplate)
USERS: Final = Resource(FLOW_GROUP, "v1alpha1", "jobflows", UsingJobFlow)


class Templates:
    """Which JobTemplates there are, kept by list and watch."""

    def __init__(self, client: KubeClient, random: Random) -> None:
        self._reflector = Reflector(client, TEMPLATES, Cache[KnownTemplate](), random, self._take)
        self._existing: dict[str, dict[str, Room]] = {}
        self._deleting: dict[str, dict[str, Room]] = {}

    async def follow(self) -> NoReturn:
        """Keep the copy in step, for ever."""
        await self._reflector.run()

    def now(self) -> Callable[[str], TemplateFacts | None]:
        """What there is in each namespace: nothing that is known, while the copy is out of step.

        What is returned may be asked in any thread.
        """
        return _nothing if self._reflector.trouble() else self._of

    def _of(self, namespace: str) -> TemplateFacts:
        existing = self._existing.get(namespace, {})
        return TemplateFacts(existing, self._deleting.get(namespace, ()), existing)

    def _take(self, old: KnownTemplate | None, new: KnownTemplate | None, /, *, initial: bool) -> None:
        if new:
            namespace, name = new.key
            self._existing.setdefault(namespace, {})[name] = new.room
            if new.metadata.is_deleting:
                self._deleting.setdefault(namespace, {})[name] = new.room
        elif old:
            for known in (self._existing, self._deleting):
                _drop(known, *old.key)


def _drop(known: dict[str, dict[str, Room]], namespace: str, name: str) -> None:
    if namespace in known:
        known[namespace].pop(name, None)
        if not known[namespace]:
            del known[namespace]


def _nothing(namespace: str) -> None:
    """Nobody knows."""


class Users:
    """Who uses a JobTemplate."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def of(self, namespace: str, template: str) -> list[str]:
        """Names of JobFlows that have not finished and name the JobTemplate, as of now; the first five.

        Raises ApiError where that cannot be known.
        """
        users: list[str] = []
        async with aclosing(self._client.list_pages(USERS, namespace=namespace, limit=PAGE)) as pages:
            async for page in pages:
                users += (jobflow.metadata.name for jobflow in _readable(page.items) if jobflow.uses(template))
                if len(users) >= MOST_NAMES:
                    return users[:MOST_NAMES]
        return users


def _readable(items: Iterable[UsingJobFlow | Unread]) -> Iterator[UsingJobFlow]:
    for item in items:
        if isinstance(item, Unread):
            raise Unreadable(f"JobFlow {item.metadata.key}: {item.error}", reason="Unreadable")
        yield item
