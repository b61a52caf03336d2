"""Who else writes the status, as `metadata.managedFields` has it."""

import pytest

from controller.jobflow.writers import VOLCANOS, FieldsOwner, other_writers, warning

OURS = "jobflow-controller"


def wrote(manager: str, minute: int, subresource: str = "status") -> FieldsOwner:
    return FieldsOwner(manager, subresource, f"2026-01-01T12:{minute:02}:00Z")


@pytest.mark.parametrize(
    ("owners", "others"),
    [
        pytest.param([], [], id="nobody"),
        pytest.param([wrote(OURS, 5)], [], id="we alone"),
        pytest.param([wrote(OURS, 5), wrote("kubectl", 9, "")], [], id="somebody who writes no status"),
        pytest.param([wrote(OURS, 5), wrote("b", 4), wrote("a", 7), wrote("b", 6)], ["a", "b"], id="the last first"),
    ],
)
def test_whoever_owns_fields_of_the_status_may_have_written_it(owners: list[FieldsOwner], others: list[str]) -> None:
    assert other_writers(owners, OURS) == others


def test_for_volcanos_controller_the_warning_says_how_to_switch_it_off() -> None:
    assert "custom.controller_enabled_controllers" in warning([VOLCANOS]).note
    assert "custom" not in warning(["kubectl-edit"]).note
    assert "kubectl-edit" in warning(["kubectl-edit"]).note
    assert warning([]).note.startswith("Somebody else writes the status")
