"""Make plans: what a seed stands for. Each workload is a kind of trouble; the weather is drawn for each anew.

plan = a_plan(seed=7)                       # the workload is drawn as well
plan = a_plan(seed=7, workload="churn")
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

from shared.api.job import FINAL
from tests.simulation.drawn import DELAYS, NAMES, PHASES, Entries, completes, entries, fails, handled, weather
from tests.simulation.plan import FlowPlan, Plan, Script, Step, Weather


def plain(random: Random, seed: int, workload: str) -> Plan:
    """JobFlows that do well."""
    flows = [
        FlowPlan(name, entries(random, most), random.choice((None, "retain", "delete")), round(random.uniform(0, 1), 3))
        for name, most in random.choice(((("etl", 6),), (("etl", 5), ("a", 3)), (("a", 3), ("a-b", 2), ("etl", 2))))
    ]
    names = sorted({name for flow in flows for name, _ in flow.entries})
    scripts = {
        f"{flow.name}-{name}": tuple(completes(random) for _ in range(2)) for flow in flows for name, _ in flow.entries
    }
    calm_at = random.choice((3.0, 6.0, 12.0))
    return Plan(
        seed,
        workload,
        tuple(flows),
        tuple((name, None) for name in names),
        scripts,
        weather=weather(random, calm_at),
        calm_at=calm_at,
        workers=random.choice((1, 1, 2)),
        resync=random.choice((0.0, 0.0, 5.0)),
        page=random.choice((0, 0, 1, 2)),
        shuffled=random.random() < 0.7,
        garbage=random.choice((0.05, 1.0, 5.0)),
    )


def calm(random: Random, seed: int, workload: str) -> Plan:
    """No faults at all: what is written is counted."""
    return plain(random, seed, workload).but(weather=Weather(), resync=0.0)


def ttl(random: Random, seed: int, workload: str) -> Plan:
    """Jobs that are removed as soon as they have finished, or a little later."""
    plan = plain(random, seed, workload)
    return plan.but(templates=tuple((name, random.choice((None, 0, 0, 1, 5))) for name, _ in plan.templates))


def failing(random: Random, seed: int, workload: str) -> Plan:
    """Jobs that fail, are terminated, suspended or restarted, some of them with a TTL."""
    plan = _with_scripts(plain(random, seed, workload), random, fails, 0.25)
    return plan.but(templates=tuple((name, random.choice((None, None, 0, 2))) for name, _ in plan.templates))


def hands(random: Random, seed: int, workload: str) -> Plan:
    """Users delete Jobs in every phase, and take their owners away."""
    return _with_scripts(plain(random, seed, workload), random, handled, 0.3)


def phases(random: Random, seed: int, workload: str) -> Plan:
    """Ten Jobs that go through up to twelve phases in any order, and end where they end."""
    flows = tuple(FlowPlan(f"j{i}", (("a", ()),), random.choice((None, "delete"))) for i in range(10))
    scripts: dict[str, tuple[Script, ...]] = {}
    for flow in flows:
        walk: list[tuple[float, str]] = []
        while len(walk) < random.randint(1, 12) and not (walk and walk[-1][1] in FINAL):
            walk.append((random.choice((0.0, 0.0, 0.004, 0.03, 0.3)), random.choice(PHASES)))
        scripts[f"{flow.name}-a"] = (tuple(walk),)
    calm_at = random.choice((0.5, 3.0))
    few = weather(random, calm_at) if random.random() < 0.3 else Weather(lag=random.choice((0.005, 0.05, 0.5)))
    ttl_ = random.choice((None, None, 0, 1))
    return Plan(seed, workload, flows, (("a", ttl_),), scripts, weather=few, calm_at=calm_at)


def departing(random: Random, seed: int, workload: str) -> Plan:
    """Users take Jobs away that have just completed, while their JobFlow is about to delete them."""
    plan = plain(random, seed, workload)
    flows = tuple(replace(flow, policy="delete") for flow in plan.flows)
    scripts: dict[str, tuple[Script, ...]] = {}
    for flow in flows:
        for name, _ in flow.entries:
            soon = round(random.uniform(0.0, 0.1), 3)
            script = (
                (0.05, "Running"),
                (random.choice(DELAYS), "Completed"),
                (soon, random.choice(("!disown", "!mark"))),
            )
            scripts[f"{flow.name}-{name}"] = (script if random.random() < 0.5 else completes(random),)
    return plan.but(flows=flows, scripts=scripts, weather=replace(plan.weather, lag=0.05))


def strangers(random: Random, seed: int, workload: str) -> Plan:
    """Jobs of others under the names that ours would have; some go again, some stay."""
    plan = plain(random, seed, workload)
    steps = []
    for flow in plan.flows:
        for name, _ in flow.entries:
            if random.random() < 0.4:
                job = f"{flow.name}-{name}"
                owner = random.choice((None, {"name": flow.name, "uid": "another"}, {"name": "other", "uid": "other"}))
                phase = random.choice(("", "Running", "Completed", "Completed", "Failed"))
                steps.append(Step(_when(random, plan, 0.3), "stranger", (job, phase, owner)))
                if random.random() < 0.7:
                    steps.append(Step(_when(random, plan), "unstrange", (job,)))
    return plan.but(steps=_sorted(steps))


def churn(random: Random, seed: int, workload: str) -> Plan:
    """JobFlows deleted and created again under the same name, at any step."""
    plan = _with_scripts(plain(random, seed, workload), random, fails, 0.05)
    steps = []
    for flow in plan.flows:
        for at in sorted(_when(random, plan) for _ in range(random.randint(1, 3))):
            steps.append(
                Step(at, "delete", (flow.name, random.choice(("Background", "Background", "Foreground", "Orphan"))))
            )
            if random.random() < 0.85:
                again = flow if random.random() < 0.5 else replace(flow, entries=entries(random, 4), at=0.0)
                pause = random.choice((0.0, 0.001, 0.02, 0.5, 2.0))
                steps += [Step(round(at + pause * n, 3), "create", (again,)) for n in (1, 3)]
    every = tuple((name, None) for name in NAMES[:6])
    return plan.but(steps=_sorted(steps), templates=every, calm_at=plan.calm_at + 2)


def templates(random: Random, seed: int, workload: str) -> Plan:
    """JobTemplates that come late, change, go, and come back."""
    plan = plain(random, seed, workload)
    steps, there = [], []
    for name, _ in plan.templates:
        if random.random() < 0.5:
            there.append((name, None))
        elif random.random() < 0.8:
            steps.append(Step(_when(random, plan), "template", (name, None)))
        does = [random.choice(("template", "untemplate")) for _ in range(random.randint(0, 2))]
        steps += [Step(_when(random, plan), do, (name,)) for do in does]
    steps = [replace(step, args=(step.args[0], None)) if step.do == "template" else step for step in steps]
    return plan.but(steps=_sorted(steps), templates=tuple(there))


def edits(random: Random, seed: int, workload: str) -> Plan:
    """Specs that are changed while they run, into others and into nonsense, for no webhook was there."""
    plan = plain(random, seed, workload)
    steps = []
    for flow in plan.flows:
        specs = [_edited(random, flow.entries) for _ in range(random.randint(1, 3))]
        steps += [Step(_when(random, plan), "edit", (flow.name, spec)) for spec in specs]
    return plan.but(steps=_sorted(steps), templates=tuple((name, None) for name in NAMES))


def tampering(random: Random, seed: int, workload: str) -> Plan:
    """Statuses written by hand."""
    plan = plain(random, seed, workload)
    steps = []
    for flow in plan.flows:
        some = f"{flow.name}-{random.choice(flow.entries)[0]}"
        changes: dict[str, Any] = random.choice(
            (
                {
                    "state": {
                        "phase": random.choice(("Succeed", "Failed", "Running", "Pending", "Terminating", "Nonsense"))
                    }
                },
                {"jobStatusList": [{"name": some, "state": "Completed"}]},
                {"jobStatusList": []},
                {"completedJobs": ["x", "a"], "unKnowJobs": [some, some]},
                {},
            )
        )
        steps.append(Step(_when(random, plan), "tamper", (flow.name, changes)))
    return plan.but(steps=_sorted(steps))


def refused(random: Random, seed: int, workload: str) -> Plan:
    """Creates that a webhook or a quota refuses, for a while or for ever."""
    plan = plain(random, seed, workload)
    steps = []
    for flow in plan.flows:
        ending = f"{flow.name}-{random.choice(flow.entries)[0]}"
        status = random.choice((403, 422, 400))
        steps.append(Step(_when(random, plan, 0.3), "refuse", (ending, status, "exceeded quota")))
        if random.random() < 0.8:
            steps.append(Step(_when(random, plan), "allow", (ending,)))
    return plan.but(steps=_sorted(steps))


def two(random: Random, seed: int, workload: str) -> Plan:
    """Split brain: two controllers that know nothing of each other, and no lease. Without a TTL of 0."""
    plan = random.choice((plain, plain, failing, churn, hands))(random, seed, workload)
    ttls = tuple((name, random.choice((None, None, 5))) for name, _ in plan.templates)
    return plan.but(controllers=2, templates=ttls)


def leaders(random: Random, seed: int, workload: str) -> Plan:
    """Two that elect one; the leader is killed and frozen, its lease deleted and stolen."""
    plan = random.choice((plain, ttl, failing, churn, hands))(random, seed, workload)
    freezes = tuple(
        (_when(random, plan), round(random.choice((6, 12, 20, 60)) * random.uniform(0.8, 1.2), 3)) for _ in range(2)
    )
    kills = tuple(_when(random, plan) for _ in range(random.randint(0, 2)))
    steps = []
    if random.random() < 0.2:
        steps.append(Step(_when(random, plan), random.choice(("unlease", "steal"))))
    return plan.but(
        controllers=2,
        lease=True,
        steps=_sorted([*plan.steps, *steps]),
        calm_at=plan.calm_at + random.choice((0, 20, 40)),
        weather=replace(plan.weather, freezes=freezes if random.random() < 0.6 else (), kills=kills),
    )


def mixed(random: Random, seed: int, workload: str) -> Plan:
    """A little of everything."""
    plan = churn(random, seed, workload)
    plan = _with_scripts(plan, random, fails, 0.1)
    plan = _with_scripts(plan, random, handled, 0.1)
    more = random.choice((strangers, templates, refused, edits))(random, seed, workload)
    names = {flow.name for flow in plan.flows}
    steps = [
        step for step in more.steps if step.args[0].partition("-")[0] in names or step.do in ("template", "untemplate")
    ]
    ttls = tuple((name, random.choice((None, None, 0, 3))) for name, _ in plan.templates)
    return plan.but(steps=_sorted([*plan.steps, *steps]), templates=ttls, calm_at=max(plan.calm_at, more.calm_at))


WORKLOADS: Final[Mapping[str, Callable[[Random, int, str], Plan]]] = {
    make.__name__: make
    for make in (
        plain,
        calm,
        ttl,
        failing,
        phases,
        hands,
        departing,
        strangers,
        churn,
        templates,
        edits,
        tampering,
        refused,
        two,
        leaders,
        mixed,
    )
}


def a_plan(seed: int, workload: str = "") -> Plan:
    """The plan that `seed` stands for, of that workload or of one that the seed picks."""
    names = list(WORKLOADS)
    name = workload or names[seed % len(names)]
    plan = WORKLOADS[name](Random(f"{name} {seed}"), seed, name)
    return plan.but(volcanos_crd=True) if seed % 7 == 3 else plan


def _with_scripts(plan: Plan, random: Random, make: Callable[[Random], Script], share: float) -> Plan:
    scripts = {
        name: tuple(make(random) if random.random() < share else script for script in scripts)
        for name, scripts in plan.scripts.items()
    }
    return plan.but(scripts=scripts)


def _when(random: Random, plan: Plan, share: float = 1.0) -> float:
    return round(random.uniform(0, plan.calm_at * share), 3)


def _sorted(steps: list[Step]) -> tuple[Step, ...]:
    return tuple(sorted(steps, key=lambda step: step.at))


def _edited(random: Random, before: Entries) -> Entries:
    last, first = before[-1][0], before[0][0]
    return random.choice(
        (
            (*before, ("g", (last,))),
            (*before, ("h", ())),
            before[:-1] or before,
            before[1:] or before,
            tuple((name, tuple(t for t in targets if t != first)) for name, targets in before if name != first)
            or before,
            (*before, before[0]),
            (*before, ("g", ("nobody",))),
            tuple((name, (*targets, last) if name == first else targets) for name, targets in before),
            (),
            before,
        )
    )
