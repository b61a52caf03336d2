"""Say who else writes the status of a JobFlow, as the API server has noted it in `metadata.managedFields`."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from controller.runtime.telling import Told
from shared.api.event import WARNING

VOLCANOS: Final = "vc-controller-manager"
"""How Volcano's controllers are called in `managedFields`: by the name of their program."""


class FieldsOwner(Struct, frozen=True, rename="camel"):
    """An entry of `metadata.managedFields`, without the fields. Its time is the API server's, in whole seconds."""

    manager: str = ""
    subresource: str = ""
    time: str = ""


def other_writers(owners: Iterable[FieldsOwner], ours: str) -> list[str]:
    """Who may have written the status besides us, the likeliest first: whoever has done so last."""
    others = [owner for owner in owners if owner.subresource == "status" and owner.manager != ours]
    return list(dict.fromkeys(it.manager for it in sorted(others, key=lambda it: it.time, reverse=True)))


def warning(writers: Sequence[str]) -> Told:
    """What is to be told of a JobFlow whose status somebody else writes as well, one of `writers` if there are any."""
    who = f'"{writers[0]}"' if writers else "Somebody else"
    text = f"{who} writes the status of this JobFlow as well, and each undoes what the other says"
    if VOLCANOS in writers:
        text += "; switch Volcano's own jobflow controller off (custom.controller_enabled_controllers in its chart)"
    return Told(WARNING, "AnotherStatusWriter", "WriteStatus", text, apart=600.0)
