"""Who else writes the status, as `metadata.managedFields` has it."""

import pytest

from controller.jobflow.writers import VOLCANOS, FieldsOwner, other_writers, warning

OURS = "jobflow-controller"


def wrote(manager: str, minute: int, subresource: str = "status") -> FieldsOwner:
    return FieldsOwner(manager, subresource, f"2026-01-01T12:{minute:02}:00Z")


@pytest.mark.parametrize(
    ("owners", "others"),
    [
        pytest.param([], [], id="nobody has written"),
        pytest.param([wrote(OURS, 5)], [], id="we alone"),
        pytest.param([wrote(OURS, 5), wrote(VOLCANOS, 6)], [VOLCANOS], id="Volcano's after us"),
        pytest.param([wrote(OURS, 5), wrote(VOLCANOS, 4)], [], id="Volcano's before us: it has handed over"),
        pytest.param([wrote(VOLCANOS, 4)], [], id="Volcano's, and we not yet"),
        pytest.param([wrote(OURS, 5), wrote("kubectl", 9, "")], [], id="somebody who writes no status"),
        pytest.param([wrote(OURS, 5), wrote("b", 6), wrote("a", 7)], ["a", "b"], id="several"),
    ],
)
def test_who_wrote_the_status_after_us_writes_it_as_well(owners: list[FieldsOwner], others: list[str]) -> None:
    assert other_writers(owners, OURS) == others


def test_for_volcanos_controller_the_warning_says_how_to_switch_it_off() -> None:
    assert "custom.controller_enabled_controllers" in warning(VOLCANOS).note
    assert "custom" not in warning("kubectl-edit").note
    assert "kubectl-edit" in warning("kubectl-edit").note
