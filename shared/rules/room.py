"""Names, and the room that they must leave for longer ones which are made of them."""

from collections.abc import Callable
from typing import Final

from shared.api.meta import ObjectMeta
from shared.flow import names
from shared.rules.fault import METADATA, Fault, FieldPath, invalid, required

A_SUBDOMAIN: Final = (
    'lower case letters, digits, "-" and ".", with a letter or digit at both ends and on both sides of each "."'
)
A_LABEL: Final = 'lower case letters, digits and "-", with a letter or digit at both ends'


def name_fault(metadata: ObjectMeta, room: int, why: Callable[[str], str]) -> Fault | None:
    """What is wrong with an object's own name, where names that begin with it leave it so much room.

    Of a name that is still to be made, the longest that it can become must fit. `why` tells of a name that does not,
    which longer name leaves it no room.
    """
    name = names.longest_name(metadata)
    if not name:
        return required(METADATA / "name", "name or generateName is required")
    given, at = metadata.name, METADATA / "name"
    if not given:
        given, at = metadata.generate_name, METADATA / "generateName"
        room -= len(name) - len(given[: names.LONGEST_GENERATED_BASE])
    if len(given) > room:
        return must_be_shorter(at, given, len(given) - room, why(name))
    if not names.is_subdomain(name):
        return invalid(at, given, f"must be {A_SUBDOMAIN}")
    return None


def must_be_shorter(at: FieldPath, name: str, excess: int, why: str) -> Fault:
    """A name that is so many characters too long for a name that is made of it."""
    characters = "1 character" if excess == 1 else f"{excess} characters"
    return invalid(at, name, f"must be {characters} shorter: {why}")
