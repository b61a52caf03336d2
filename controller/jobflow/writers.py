"""Say who else writes the status of a JobFlow, as the API server has noted it in `metadata.managedFields`."""

from collections.abc import Iterable
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
    """Who has written the status after we last did; nobody where we never did.

    Whoever wrote before may have handed the JobFlow over, as Volcano's controller does that was switched off.
    """
    of_status = [owner for owner in owners if owner.subresource == "status"]
    last = max((owner.time for owner in of_status if owner.manager == ours), default=None)
    if last is None:
        return []
    return sorted({owner.manager for owner in of_status if owner.manager != ours and owner.time > last})


def warning(writer: str) -> Told:
    """What is to be told of a JobFlow whose status `writer` writes as well."""
    text = f'"{writer}" writes the status of this JobFlow as well, and each undoes what the other says'
    if writer == VOLCANOS:
        text += "; switch Volcano's own jobflow controller off (custom.controller_enabled_controllers in its chart)"
    return Told(WARNING, "AnotherStatusWriter", "WriteStatus", text, apart=600.0)
