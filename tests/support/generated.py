"""Hypothesis strategies: graphs, valid JobFlows and valid specs of Jobs as JSON."""

from typing import Any

from hypothesis import strategies as st

from shared.flow.names import LONGEST_CHILD

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"

dns_labels = st.builds(
    lambda first, middle, last: f"{first}{middle}{last}" if middle or last else first,
    st.sampled_from(LETTERS),
    st.text(LETTERS + DIGITS + "-", max_size=12),
    st.sampled_from(LETTERS + DIGITS),
)

dns_subdomains = st.lists(dns_labels, min_size=1, max_size=3).map(".".join)


@st.composite
def graphs(draw: st.DrawFn, most: int = 8) -> dict[str, tuple[str, ...]]:
    """Any graph of a few nodes, loops on oneself and whole cycles among them, every target a node."""
    nodes = [f"n{i}" for i in range(draw(st.integers(1, most)))]
    targets = st.lists(st.sampled_from(nodes), unique=True, max_size=4).map(tuple)
    order = draw(st.permutations(nodes))
    return {node: draw(targets) for node in order}


@st.composite
def jobflow_objects(draw: st.DrawFn, most: int = 8) -> dict[str, Any]:
    """A valid JobFlow as JSON: an acyclic graph in any order, with patches, probes and a policy here and there."""
    name = draw(dns_subdomains.filter(lambda text: len(text) <= 40))
    room = LONGEST_CHILD - len(name) - 1
    names = draw(
        st.lists(dns_subdomains.filter(lambda text: len(text) <= room), unique=True, min_size=1, max_size=most)
    )
    flows = []
    for i, each in enumerate(names):
        targets = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=4)) if i else []
        flow: dict[str, Any] = {"name": each}
        depends_on: dict[str, Any] = {}
        if targets or draw(st.booleans()):
            depends_on["targets"] = targets
        if draw(st.booleans()):
            depends_on["probe"] = draw(probes)
        if depends_on or draw(st.booleans()):
            flow["dependsOn"] = depends_on
        if draw(st.booleans()):
            flow["patch"] = {"jobSpec": {"queue": "batch"}}
        flows.append(flow)
    spec: dict[str, Any] = {"flows": draw(st.permutations(flows))}
    if policy := draw(st.sampled_from([None, "retain", "delete"])):
        spec["jobRetainPolicy"] = policy
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name, "namespace": "ml", "uid": "uid"},
        "spec": spec,
    }


_ports = st.integers(1, 65535)
_headers = st.sampled_from([None, {"name": "", "value": ""}, {"name": "Accept", "value": "text/plain"}])

probes = st.fixed_dictionaries(
    {},
    optional={
        "httpGetList": st.lists(
            st.fixed_dictionaries(
                {"taskName": dns_labels, "port": _ports}, optional={"path": st.just("/ready"), "httpHeader": _headers}
            ),
            max_size=2,
        ),
        "tcpSocketList": st.lists(st.fixed_dictionaries({"taskName": dns_labels, "port": _ports}), max_size=2),
        "taskStatusList": st.lists(
            st.fixed_dictionaries({"taskName": dns_labels, "phase": st.sampled_from(["Running", "x" * 63])}), max_size=2
        ),
    },
)


@st.composite
def job_specs(draw: st.DrawFn) -> dict[str, Any]:
    """A valid spec: tasks in a chain or not, with what they need or all of it."""
    names = draw(st.lists(dns_labels, unique=True, min_size=1, max_size=4))
    tasks = []
    for i, name in enumerate(names):
        replicas = draw(st.integers(1, 5))
        container = {"name": draw(dns_labels), "image": "busybox"}
        if draw(st.booleans()):
            container["resources"] = {
                "requests": {"cpu": draw(st.sampled_from([1, "1", "500m"]))},
                "limits": {"cpu": "1"},
            }
        task = {"name": name, "replicas": replicas, "template": {"spec": {"containers": [container]}}}
        if draw(st.booleans()):
            task["minAvailable"] = draw(st.integers(0, replicas))
        if i and draw(st.booleans()):
            task["dependsOn"] = {"name": draw(st.lists(st.sampled_from(names[:i]), unique=True))}
        tasks.append(task)
    events = draw(st.lists(st.sampled_from(["PodFailed", "PodEvicted", "Unknown", "TaskFailed"]), unique=True))
    return {
        "tasks": draw(st.permutations(tasks)),
        "minAvailable": draw(st.integers(0, sum(task["replicas"] for task in tasks))),
        "policies": [{"event": event, "action": "AbortJob"} for event in events],
        "plugins": {key: [] for key in draw(st.lists(st.sampled_from(["svc", "ssh", "env", "ray"])))},
    }
