"""What a rule is, and the order of faults."""

from msgspec import Struct

from shared.rules.fault import METADATA, SPEC, FieldPath, required
from shared.rules.rule import DocumentOrder, Rule, judge


class Leaf(Struct):
    zebra: int = 0
    apple: int = 0


class Root(Struct, rename="camel"):
    many_leaves: list[Leaf] | None = None
    leaf: Leaf | None = None
    free: dict[str, int] = {}


ORDER = DocumentOrder(metadata=Leaf, spec=Root)


@Rule
def one_rule_is_a_function(places):
    """A rule is one function.

    Its first lines are for users.
    """
    yield from map(required, places)


@Rule
def another_rule(places):
    """Another rule."""
    yield from map(required, places)


def test_a_rule_bears_the_name_of_its_function_and_says_its_docstring():
    assert one_rule_is_a_function.id == "one-rule-is-a-function"
    assert one_rule_is_a_function.says == "A rule is one function.\n\nIts first lines are for users."


def test_every_fault_names_its_rule():
    assert [fault.rule for fault in one_rule_is_a_function([SPEC])] == ["one-rule-is-a-function"]


def test_faults_stand_in_the_order_of_the_model_and_not_of_the_alphabet():
    wanted = [
        METADATA / "zebra",
        SPEC,
        SPEC / "manyLeaves" / 2,
        SPEC / "manyLeaves" / 2 / "zebra",
        SPEC / "manyLeaves" / 2 / "apple",
        SPEC / "manyLeaves" / 10 / "zebra",
        SPEC / "leaf" / "zebra",
        SPEC / "leaf" / "apple",
        (SPEC / "free").key("a"),
        (SPEC / "free").key("b"),
        SPEC / "unknown",
        FieldPath("status"),
    ]
    faults = judge([one_rule_is_a_function, another_rule], wanted, ORDER)
    assert [str(fault.field) for fault in faults] == [str(place) for place in wanted for _ in range(2)]
    faults = sorted(map(required, reversed(wanted)), key=lambda fault: ORDER.place(fault.field))
    assert [fault.field for fault in faults] == wanted


def test_at_one_place_the_order_of_the_rules_counts():
    faults = judge([another_rule, one_rule_is_a_function], [SPEC], ORDER)
    assert [fault.rule for fault in faults] == ["another-rule", "one-rule-is-a-function"]
