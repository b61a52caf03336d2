"""A real kubectl works: what a user types, and what the terminal says."""

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from tests.devcluster.api.client import JSON, Answer, Api, a_widget
from tests.devcluster.api.conftest import until
from tests.support.binaries import require_binaries

Result = subprocess.CompletedProcess[str]


class Kubectl:
    """kubectl on the API under test."""

    def __init__(self, api: Api, home: Path) -> None:
        self.api = api
        self.config = home / "kubeconfig"
        self.environment = {**os.environ, "KUBECONFIG": str(self.config), "HOME": str(home)}
        self.program = require_binaries().kubectl

    async def run(self, *arguments: str, stdin: JSON | None = None, env: JSON | None = None) -> Result:
        """Run it and return what came of it."""
        process = await self.start(*arguments, env=env)
        out, err = await process.communicate(json.dumps(stdin).encode() if stdin else None)
        return subprocess.CompletedProcess(arguments, process.returncode or 0, out.decode(), err.decode())

    async def start(self, *arguments: str, env: JSON | None = None) -> asyncio.subprocess.Process:
        """Start it."""
        pipe = subprocess.PIPE
        environment = self.environment | (env or {})
        return await asyncio.create_subprocess_exec(
            self.program, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )

    async def __call__(self, *arguments: str, stdin: JSON | None = None) -> str:
        done = await self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
async def kubectl(api: Api, tmp_path: Path, request: pytest.FixtureRequest) -> Kubectl:
    made = Kubectl(api, tmp_path)
    if api.server is not None:
        api.server.kubeconfig(made.config, namespace=api.namespace)
    else:
        config = yaml.safe_load(request.getfixturevalue("real_server").kubeconfig.read_text())
        config["contexts"][0]["context"]["namespace"] = api.namespace
        made.config.write_text(yaml.safe_dump(config))
    return made


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


async def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl):
    said = [
        await kubectl("apply", "-f", "-", stdin=a_widget("a", **spec))
        for spec in ({"size": 1, "color": "red"}, {"size": 2}, {"size": 2})
    ]

    assert [text.split()[-1] for text in said] == ["created", "configured", "unchanged"]
    assert json.loads(await kubectl("get", "wd", "a", "-o", "json"))["spec"] == {"size": 2}


async def test_apply_on_the_servers_side_knows_who_owns_what(kubectl: Kubectl):
    ours, theirs = ("apply", "--server-side", "-f", "-"), ("apply", "--server-side", "--field-manager=other", "-f", "-")
    created = await kubectl(*ours, stdin=a_widget("a", size=1, color="red"))
    refused = await kubectl.run(*theirs, stdin=a_widget("a", size=2))
    forced = await kubectl(*theirs, "--force-conflicts", stdin=a_widget("a", size=2))
    dropped = await kubectl(*ours, stdin=a_widget("a"))

    assert all("serverside-applied" in text for text in (created, forced, dropped))
    assert (refused.returncode, "conflict with" in refused.stderr, ".spec.size" in refused.stderr) == (1, True, True)
    assert json.loads(await kubectl("get", "wd", "a", "-o", "json"))["spec"] == {"size": 2}


async def test_apply_of_a_built_in_kind_merges_by_its_keys(kubectl: Kubectl):
    def service(*ports: int) -> JSON:
        listed = [{"name": f"p{port}", "port": port} for port in ports]
        spec = {"selector": {"a": "b"}, "ports": listed}
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}

    await kubectl("apply", "-f", "-", stdin=service(80, 90))
    await kubectl("apply", "-f", "-", stdin=service(90, 91))

    ports = json.loads(await kubectl("get", "svc", "a", "-o", "json"))["spec"]["ports"]
    assert sorted(port["port"] for port in ports) == [90, 91]


async def test_get_prints_the_columns_of_the_kind(kubectl: Kubectl):
    await kubectl("create", "-f", "-", stdin=a_widget("a", size=7))

    narrow, wide = lines(await kubectl("get", "wd")), lines(await kubectl("get", "widgets.tests.example", "-o", "wide"))

    assert (narrow[0], narrow[1][:2]) == (["NAME", "SIZE", "AGE"], ["a", "7"])
    assert wide[0] == ["NAME", "SIZE", "PHASE", "AGE"]


async def test_get_prints_any_form(kubectl: Kubectl):
    await kubectl("create", "-f", "-", stdin=a_widget("a", size=7))

    assert yaml.safe_load(await kubectl("get", "wd", "a", "-o", "yaml"))["spec"] == {"size": 7}
    assert await kubectl("get", "wd", "a", "-o", "jsonpath={.spec.size}") == "7"
    assert await kubectl("get", "wd", "-o", "name") == "widget.tests.example/a\n"
    assert lines(await kubectl("get", "wd", "-o", "custom-columns=N:.metadata.name"))[1] == ["a"]


async def test_get_of_nothing_says_so(kubectl: Kubectl):
    nothing, missing = await kubectl.run("get", "wd"), await kubectl.run("get", "wd", "a")

    assert nothing.stderr == f"No resources found in {kubectl.api.namespace} namespace.\n"
    assert missing.stderr == 'Error from server (NotFound): widgets.tests.example "a" not found\n'


async def test_get_follows_what_happens(kubectl: Kubectl):
    await kubectl("create", "-f", "-", stdin=a_widget("a", size=7))
    following = await kubectl.start("get", "wd", "a", "-w")
    assert following.stdout is not None
    try:
        head, first = await following.stdout.readline(), await following.stdout.readline()
        await kubectl("patch", "wd", "a", "--type=merge", "-p", '{"spec":{"size":8}}')
        second = await following.stdout.readline()
    finally:
        following.terminate()
        await following.communicate()

    assert [line.split()[:2] for line in (head, first, second)] == [[b"NAME", b"SIZE"], [b"a", b"7"], [b"a", b"8"]]


async def test_get_comes_in_chunks(kubectl: Kubectl):
    for i in range(5):
        await kubectl.api.widget(f"w{i}")

    assert len(lines(await kubectl("get", "wd", "--chunk-size=2", "--no-headers"))) == 5


async def test_describe_shows_fields_and_events(kubectl: Kubectl):
    widget = await kubectl.api.widget("a", size=7)
    about = {"kind": "Widget", "name": "a", "namespace": kubectl.api.namespace, "uid": widget["metadata"]["uid"]}
    event = {
        "metadata": {"name": "a.1"},
        "involvedObject": about | {"apiVersion": "tests.example/v1"},
        "reason": "Made",
        "message": "It was made.",
        "type": "Normal",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    await kubectl.api.post(f"/api/v1/namespaces/{kubectl.api.namespace}/events", event)

    described, told = await kubectl("describe", "wd", "a"), await kubectl("events", "--for", "widget/a")

    assert "Size:  7" in described
    assert described.strip().splitlines()[-1].split()[:2] == ["Normal", "Made"]
    assert "It was made." in told
    head, row = lines(await kubectl("get", "events"))
    assert head == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:4] == ["Normal", "Made", "widget/a"]


async def test_explain_teaches(kubectl: Kubectl):
    text = await kubectl("explain", "wd.spec")

    assert "What the widget is like." in text
    assert "color" in text


async def test_edit_changes_what_the_editor_changes(kubectl: Kubectl):
    await kubectl.api.widget("a", size=7)

    done = await kubectl.run("edit", "wd", "a", env={"KUBE_EDITOR": "sed -i s/size:.*/size:\\ 8/"})

    assert done.stdout == "widget.tests.example/a edited\n", done.stderr
    assert await kubectl("get", "wd", "a", "-o", "jsonpath={.spec.size}") == "8"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("patch", "wd", "a", "--type=merge", "-p", '{"spec":{"size":8}}'), "patched"),
        (("patch", "wd", "a", "--type=json", "-p", '[{"op":"add","path":"/spec/color","value":"red"}]'), "patched"),
        (("patch", "wd", "a", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"x"}}'), "patched"),
        (("label", "wd", "a", "x=y"), "labeled"),
        (("annotate", "wd", "a", "x=y"), "annotated"),
    ],
)
async def test_small_changes_from_the_command_line(kubectl: Kubectl, arguments: tuple[str, ...], says: str):
    await kubectl.api.widget("a")

    assert await kubectl(*arguments) == f"widget.tests.example/a {says}\n"


async def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl):
    await kubectl.api.widget("a", finalizers=["tests.example/hold"])
    deleting = await kubectl.start("delete", "wd", "a")

    async def marked() -> bool:
        return "deletionTimestamp" in (await kubectl.api.get(f"{kubectl.api.widgets}/a")).body["metadata"]

    await until(marked)
    assert deleting.returncode is None
    await kubectl.api.patch(f"{kubectl.api.widgets}/a", {"metadata": {"finalizers": None}})
    await asyncio.wait_for(deleting.communicate(), timeout=30)

    assert deleting.returncode == 0


async def test_delete_of_all_and_by_label(kubectl: Kubectl):
    for name, label in (("a", "x"), ("b", "y"), ("c", "y")):
        await kubectl.api.widget(name, labels={"l": label})

    await kubectl("delete", "wd", "-l", "l=x")
    await kubectl("delete", "wd", "--all")

    assert (await kubectl.api.get(kubectl.api.widgets)).body["items"] == []


@pytest.mark.parametrize(
    ("condition", "happens"),
    [
        pytest.param(
            "jsonpath={.status.phase}=Done",
            lambda api: api.patch(f"{api.widgets}/a/status", {"status": {"phase": "Done"}}),
            id="a field",
        ),
        pytest.param("delete", lambda api: api.delete(f"{api.widgets}/a"), id="its end"),
    ],
)
async def test_wait_waits_for(kubectl: Kubectl, condition: str, happens: Callable[[Api], Awaitable[Answer]]):
    await kubectl.api.widget("a")
    waiting = await kubectl.start("wait", "wd/a", f"--for={condition}", "--timeout=30s")
    await asyncio.sleep(0.3)  # so that it finds things as they were, and has to watch

    assert waiting.returncode is None
    await happens(kubectl.api)
    await waiting.communicate()

    assert waiting.returncode == 0


async def test_wait_waits_for_a_condition(kubectl: Kubectl):
    said = await kubectl("wait", "--for=condition=Established", "crd/widgets.tests.example", "--timeout=10s")

    assert said == "customresourcedefinition.apiextensions.k8s.io/widgets.tests.example condition met\n"


async def test_what_exists_can_be_found_by_its_short_name(kubectl: Kubectl):
    rows = {row[0]: row for row in lines(await kubectl("api-resources", "--no-headers"))}

    assert rows["widgets"] == ["widgets", "wd", "tests.example/v1", "true", "Widget"]
    assert rows["namespaces"][1] == "ns"


async def test_unknown_fields_are_refused_by_the_server_before_anything_is_stored(kubectl: Kubectl):
    done = await kubectl.run("create", "-f", "-", stdin=a_widget("a", nothing="x"))

    assert done.returncode == 1
    assert 'strict decoding error: unknown field "spec.nothing"' in done.stderr


async def test_an_invalid_object_is_refused_with_its_field(kubectl: Kubectl):
    done = await kubectl.run("create", "-f", "-", stdin=a_widget("a", size=77))

    assert done.stderr == (
        'The Widget "a" is invalid: spec.size: Invalid value: 77: '
        "spec.size in body should be less than or equal to 10\n"
    )


async def test_diff_and_dry_run_change_nothing(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", stdin=a_widget("a", size=1))

    diff = await kubectl.run("diff", "-f", "-", stdin=a_widget("a", size=2))
    dry = await kubectl("apply", "--dry-run=server", "-f", "-", stdin=a_widget("a", size=2))

    assert (diff.returncode, "+  size: 2" in diff.stdout) == (1, True)
    assert dry == "widget.tests.example/a configured (server dry run)\n"
    assert await kubectl("get", "wd", "a", "-o", "jsonpath={.spec.size}") == "1"


async def test_kinds_that_kubectl_makes_itself_arrive(kubectl: Kubectl):
    said = [
        await kubectl("create", "namespace", f"{kubectl.api.namespace}-two"),
        await kubectl("create", "configmap", "a", "--from-literal=x=y"),
        await kubectl("create", "secret", "generic", "a", "--from-literal=x=y"),
        await kubectl("create", "serviceaccount", "bob"),
        await kubectl("create", "role", "r", "--verb=get,list", "--resource=widgets.tests.example,pods"),
        await kubectl("create", "rolebinding", "r", "--role=r", f"--serviceaccount={kubectl.api.namespace}:bob"),
    ]

    assert [text.split()[-1] for text in said] == ["created"] * 6
    assert await kubectl("get", "cm", "a", "-o", "jsonpath={.data.x}") == "y"
    assert await kubectl("get", "secret", "a", "-o", "jsonpath={.data.x}") == "eQ=="
    rules = sorted(json.loads(await kubectl("get", "role", "r", "-o", "json"))["rules"], key=json.dumps)
    assert rules == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["tests.example"], "resources": ["widgets"], "verbs": ["get", "list"]},
    ]
    await kubectl("delete", "namespace", f"{kubectl.api.namespace}-two")


async def test_can_i(kubectl: Kubectl):
    account = f"system:serviceaccount:{kubectl.api.namespace}:nobody"

    mine = await kubectl.run("auth", "can-i", "create", "widgets.tests.example")
    theirs = await kubectl.run("auth", "can-i", "create", "widgets.tests.example", f"--as={account}")

    assert (mine.stdout, mine.returncode) == ("yes\n", 0)
    assert (theirs.stdout, theirs.returncode) == ("no\n", 1)
    assert "admin" in await kubectl("auth", "whoami")


async def test_a_token_of_a_service_account_lets_it_in(kubectl: Kubectl):
    await kubectl("create", "serviceaccount", "bob")
    token = (await kubectl("create", "token", "bob")).strip()

    answer = await kubectl.api.with_token(token).get(kubectl.api.widgets)

    assert answer.code == 403
    assert f"system:serviceaccount:{kubectl.api.namespace}:bob" in answer.message
