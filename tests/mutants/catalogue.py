"""All mutants, by name."""

from collections.abc import Mapping
from typing import Final

from tests.mutants.controllers import CONTROLLERS
from tests.mutants.hardened import HARDENED
from tests.mutants.histories import HISTORIES
from tests.mutants.mutant import Mutant
from tests.mutants.volcanos import VOLCANOS
from tests.mutants.webhooks import WEBHOOKS

LISTS: Final = (HARDENED, CONTROLLERS, VOLCANOS, WEBHOOKS, HISTORIES)

MUTANTS: Final[Mapping[str, Mutant]] = {each.name: each for mutants in LISTS for each in mutants}
