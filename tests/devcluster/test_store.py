"""The store: one counter of versions, what happened in order, and what is forgotten."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from devcluster.store import Stale, Store, Stored, TooLarge

THINGS = "things"


def a_thing(name: str, **spec: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}"}, "spec": spec}


def test_versions_grow_over_all_buckets():
    store = Store()

    versions = [store.put(bucket, a_thing("a"), None).version for bucket in ("x", "y", "z")]

    assert versions == sorted(set(versions))
    assert store.version == versions[-1]


def test_who_has_not_seen_the_last_write_cannot_write():
    store = Store()
    first = store.put(THINGS, a_thing("a"), None)
    store.put(THINGS, a_thing("a", size=1), first)

    with pytest.raises(Stale):
        store.put(THINGS, a_thing("a", size=2), first)
    with pytest.raises(Stale):
        store.put(THINGS, a_thing("a"), None)
    with pytest.raises(Stale):
        store.remove(THINGS, first)


def test_what_does_not_differ_is_not_written():
    store = Store()
    first = store.put(THINGS, a_thing("a"), None)

    assert store.put(THINGS, a_thing("a"), first) is first
    assert store.version == first.version


def test_what_was_read_can_be_changed_without_changing_what_is_stored():
    store = Store()
    store.put(THINGS, a_thing("a", size=1), None)

    read = store.get(THINGS, "n", "a").decode()
    read["spec"]["size"] = 2

    assert store.get(THINGS, "n", "a").decode()["spec"] == {"size": 1}


def test_a_write_that_is_too_large_uses_up_no_version():
    store = Store()

    with pytest.raises(TooLarge):
        store.put(THINGS, a_thing("a", text="x" * 2_000_000), None)

    assert store.version == 1


def test_dependents_are_found_by_the_uid_of_their_owner():
    store = Store()
    child = a_thing("child")
    child["metadata"]["ownerReferences"] = [{"uid": "uid-owner"}]  # type: ignore[index]
    stored = store.put(THINGS, child, None)

    assert store.dependents("uid-owner") == [(THINGS, ("n", "child"))]
    store.put(THINGS, a_thing("child"), stored)
    assert store.dependents("uid-owner") == []


def test_keys_of_a_namespace_leave_out_those_whose_name_only_begins_alike():
    store = Store()
    for namespace in ("n", "n-2", "m"):
        store.put(THINGS, {"metadata": {"name": "a", "namespace": namespace}}, None)

    assert store.bucket(THINGS).sorted_keys("n") == [("n", "a")]


class History(RuleBasedStateMachine):
    """Whatever is written, any version that is not forgotten can be shown, and followed from."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.past: dict[int, dict[str, int]] = {self.store.version: {}}

    def sizes(self) -> dict[str, int]:
        return {key[1]: stored.decode()["spec"]["size"] for key, stored in self.store.bucket(THINGS).objects.items()}

    @rule(name=st.sampled_from("abc"), size=st.integers(0, 3))
    def write(self, name: str, size: int) -> None:
        self.store.put(THINGS, a_thing(name, size=size), self.store.get(THINGS, "n", name))
        self.past[self.store.version] = self.sizes()

    @precondition(lambda self: self.sizes())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.sizes())))
        self.store.remove(THINGS, self.stored(name))
        self.past[self.store.version] = self.sizes()

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        self.store.compact(data.draw(st.sampled_from(sorted(self.past))))

    def stored(self, name: str) -> Stored:
        found = self.store.get(THINGS, "n", name)
        assert found
        return found

    @invariant()
    def every_kept_version_is_shown_as_it_was(self) -> None:
        bucket = self.store.bucket(THINGS)
        for version, sizes in self.past.items():
            if version >= bucket.floor:
                shown = bucket.snapshot(version)
                assert {key[1]: stored.decode()["spec"]["size"] for key, stored in shown.items()} == sizes

    @invariant()
    def every_kept_version_leads_to_the_present(self) -> None:
        bucket = self.store.bucket(THINGS)
        for version, sizes in self.past.items():
            if version < bucket.floor:
                continue
            now = dict(sizes)
            for change in bucket.since(bucket.first_after(version)):
                if change.kind == "DELETED":
                    del now[change.new.name]
                else:
                    assert (change.kind == "MODIFIED") == (change.new.name in now)
                    now[change.new.name] = change.new.decode()["spec"]["size"]
            assert now == self.sizes()


TestHistory = History.TestCase
