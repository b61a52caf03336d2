"""The cache says what each change made different, and its indexes never disagree with it."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shared.api.job import Job, JobRunStatus, JobState
from shared.api.meta import Key, ObjectMeta, OwnerReference
from shared.kube.cache import Cache, Difference


def a_job(name: str = "a", version: int | str = 1, *, uid: str = "u", owner: str = "", phase: str = "") -> Job:
    owners = (OwnerReference(uid=owner, controller=True),) if owner else None
    metadata = ObjectMeta(name, namespace="ml", uid=uid, resource_version=str(version), owner_references=owners)
    return Job(metadata, status=JobRunStatus(JobState(phase)))


def owners(job: Job) -> Sequence[str]:
    return (job.owner_uid,) if job.owner_uid else ()


def test_what_is_there_already_or_older_makes_no_difference() -> None:
    cache: Cache[Job] = Cache()
    assert cache.put(a_job(version=5)) == (Difference(None, a_job(version=5)),)
    assert cache.put(a_job(version=5)) == ()
    assert cache.put(a_job(version=4)) == ()
    assert cache.get(Key("ml", "a")) == a_job(version=5)


def test_versions_are_compared_as_numbers_and_where_they_are_none_any_other_is_newer() -> None:
    cache: Cache[Job] = Cache()
    cache.put(a_job(version=9))
    assert cache.put(a_job(version=10))
    assert cache.put(a_job(version="x"))
    assert cache.put(a_job(version="a"))
    assert not cache.put(a_job(version="a"))


def test_an_object_in_the_place_of_another_makes_two_differences() -> None:
    cache: Cache[Job] = Cache({"owner": owners})
    first, second = a_job(uid="u1", version=5, owner="x"), a_job(uid="u2", version=3, owner="y")
    cache.put(first)
    assert cache.put(second) == (Difference(first, None), Difference(None, second))
    assert cache.indexed("owner", "x") == []
    assert cache.indexed("owner", "y") == [second]


def test_a_deletion_tells_the_last_state_and_hits_no_other_object_of_that_name() -> None:
    cache: Cache[Job] = Cache()
    cache.put(a_job(uid="u2", version=7))
    assert cache.remove(a_job(uid="u1", version=9)) == ()
    last = a_job(uid="u2", version=9, phase="Completed")
    assert cache.remove(last) == (Difference(last, None),)
    assert cache.remove(last) == ()


def test_a_list_of_one_namespace_leaves_the_others_alone() -> None:
    cache: Cache[Job] = Cache()
    elsewhere = Job(ObjectMeta("b", namespace="web", uid="w", resource_version="1"))
    cache.put(a_job())
    cache.put(elsewhere)
    assert list(cache.replace([], within="ml")) == [Difference(a_job(), None)]
    assert list(cache) == [elsewhere]


JOBS = st.builds(
    a_job,
    st.sampled_from("abcd"),
    st.integers(1, 30),
    uid=st.sampled_from(("u1", "u2")),
    owner=st.sampled_from(("", "x", "y")),
)


class CacheAgainstADict(RuleBasedStateMachine):
    """Whatever happens, cache and indexes hold the same, and the differences that were told add up to it."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: Cache[Job] = Cache({"owner": owners, "letters": lambda job: [job.name, job.name, job.uid]})
        self.heard: dict[Key, Job] = {}

    def hear(self, differences: Sequence[Difference[Job]]) -> None:
        for old, new in differences:
            job = new or old
            assert job is not None
            known = self.heard.pop(job.key, None)
            assert (known is None) == (old is None)
            assert old is None or new is None or old.uid == new.uid
            if new:
                self.heard[new.key] = new

    @rule(job=JOBS)
    def put(self, job: Job) -> None:
        before = self.cache.get(job.key)
        self.hear(self.cache.put(job))
        after = self.cache.get(job.key)
        stale = (
            before
            and before.uid == job.uid
            and int(before.metadata.resource_version) >= int(job.metadata.resource_version)
        )
        assert after == (before if stale else job)

    @rule(job=JOBS)
    def remove(self, job: Job) -> None:
        self.hear(self.cache.remove(job))
        left = self.cache.get(job.key)
        assert left is None or left.uid != job.uid

    @rule(jobs=st.lists(JOBS, unique_by=lambda job: job.name), keep=st.sets(st.sampled_from("abcd")))
    def replace(self, jobs: list[Job], keep: set[str]) -> None:
        listed = [job for job in jobs if job.name not in keep]
        kept = {job.key: job for job in self.cache if job.name in keep}
        self.hear(list(self.cache.replace(listed, keep={Key("ml", name) for name in keep})))
        assert {job.key: job.metadata.resource_version for job in self.cache} == {
            **{job.key: job.metadata.resource_version for job in listed},
            **{key: job.metadata.resource_version for key, job in kept.items()},
        }

    @invariant()
    def what_was_told_is_what_is_held(self) -> None:
        assert {job.key: job for job in self.cache} == self.heard
        assert len(self.cache) == len(self.heard)

    @invariant()
    def indexes_agree(self) -> None:
        for value in ("x", "y", "z"):
            expected = {job.key for job in self.cache if job.owner_uid == value}
            found = [job.key for job in self.cache.indexed("owner", value)]
            assert len(found) == len(set(found))
            assert set(found) == expected
        for value in "abcd":
            assert [job.name for job in self.cache.indexed("letters", value)] == [
                job.name for job in self.cache if job.name == value
            ]


CacheAgainstADict.TestCase.settings = settings(deadline=None)
TestCacheAgainstADict = CacheAgainstADict.TestCase


@settings(deadline=None)
@given(st.lists(JOBS))
def test_a_list_that_brings_nothing_new_tells_nothing(jobs: list[Job]) -> None:
    cache: Cache[Job] = Cache({"owner": owners})
    for job in jobs:
        cache.put(job)
    assert list(cache.replace(list(cache))) == []
