"""Who may do what: tokens, RBAC, ServiceAccounts, impersonation, and asking beforehand."""

from typing import Any

from tests.devcluster.api.client import JSON, Api, a_widget
from tests.devcluster.api.conftest import until

ROLES = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


async def an_account(api: Api, name: str = "bob") -> Api:
    """Return the API as a ServiceAccount of the namespace sees it."""
    path = f"/api/v1/namespaces/{api.namespace}/serviceaccounts"
    assert (await api.post(path, {"metadata": {"name": name}})).code == 201
    token = await api.post(
        f"{path}/{name}/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    )
    assert token.code == 201, token.body
    return api.with_token(token.body["status"]["token"])


async def grant(api: Api, *rules: JSON, account: str = "bob") -> None:
    """Give an account some rules in the namespace."""
    where = f"{ROLES}/namespaces/{api.namespace}"
    await api.post(f"{where}/roles", {"metadata": {"name": "it"}, "rules": list(rules)})
    subject = {"kind": "ServiceAccount", "name": account, "namespace": api.namespace}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "it"}
    binding = {"metadata": {"name": "it"}, "subjects": [subject], "roleRef": ref}
    assert (await api.post(f"{where}/rolebindings", binding)).code == 201


def rule(*verbs: str, resources: str = "widgets", **more: Any) -> JSON:
    return {"apiGroups": ["tests.example"], "resources": [resources], "verbs": list(verbs), **more}


async def test_a_token_that_nobody_knows_is_unauthorized(api: Api):
    answer = await api.with_token("nobody-knows").get(api.widgets)

    assert (answer.code, answer.body["reason"], answer.message) == (401, "Unauthorized", "Unauthorized")


async def test_who_was_granted_nothing_is_forbidden_everything(api: Api):
    bob = await an_account(api)

    answer = await bob.get(api.widgets)

    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        f'widgets.tests.example is forbidden: User "system:serviceaccount:{api.namespace}:bob" cannot list resource '
        f'"widgets" in API group "tests.example" in the namespace "{api.namespace}"'
    )


async def test_a_role_grants_its_verbs_in_its_namespace_and_no_more(api: Api):
    bob = await an_account(api)
    await grant(api, rule("get", "list", "watch"))
    await api.widget("a")

    async def may_list() -> bool:
        return (await bob.get(api.widgets)).code == 200

    await until(may_list)
    assert (await bob.get(f"{api.widgets}/a")).code == 200
    assert (await bob.post(api.widgets, a_widget("b"))).code == 403
    assert (await bob.delete(f"{api.widgets}/a")).code == 403
    assert (await bob.get("/apis/tests.example/v1/widgets")).code == 403
    assert (await bob.patch(f"{api.widgets}/a/status", {"status": {"phase": "x"}})).code == 403


async def test_a_subresource_is_granted_apart(api: Api):
    bob = await an_account(api)
    await grant(api, rule("get", "patch", resources="widgets/status"))
    await api.widget("a")

    async def may_write_status() -> bool:
        return (await bob.patch(f"{api.widgets}/a/status", {"status": {"phase": "x"}})).code == 200

    await until(may_write_status)
    assert (await bob.patch(f"{api.widgets}/a", {"spec": {"size": 1}})).code == 403


async def test_a_grant_may_be_for_one_name(api: Api):
    bob = await an_account(api)
    await grant(api, rule("get", resourceNames=["a"]))
    await api.widget("a")
    await api.widget("b")

    async def may_get() -> bool:
        return (await bob.get(f"{api.widgets}/a")).code == 200

    await until(may_get)
    assert (await bob.get(f"{api.widgets}/b")).code == 403


async def test_a_grant_that_is_taken_back_ends(api: Api):
    bob = await an_account(api)
    await grant(api, rule("list"))

    async def code(wanted: int) -> bool:
        return (await bob.get(api.widgets)).code == wanted

    await until(lambda: code(200))
    await api.delete(f"{ROLES}/namespaces/{api.namespace}/rolebindings/it")
    await until(lambda: code(403))


async def test_everybody_known_may_discover(api: Api):
    bob = await an_account(api)

    codes = [
        (await bob.get(path)).code for path in ("/api", "/apis", "/apis/tests.example/v1", "/version", "/openapi/v3")
    ]

    assert codes == [200] * 5


async def test_one_can_ask_beforehand(api: Api):
    bob = await an_account(api)
    await grant(api, rule("list"))

    async def allowed(who: Api, verb: str) -> bool:
        attributes = {"group": "tests.example", "resource": "widgets", "verb": verb, "namespace": api.namespace}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = await who.post(REVIEWS, body | {"spec": {"resourceAttributes": attributes}})
        assert answer.code == 201
        return bool(answer.body["status"]["allowed"])

    await until(lambda: allowed(bob, "list"))
    assert not await allowed(bob, "delete")
    assert await allowed(api, "delete")


async def test_an_admin_may_act_as_another(api: Api):
    await an_account(api)
    as_bob = {"Impersonate-User": f"system:serviceaccount:{api.namespace}:bob"}

    answer = await api.request("GET", api.widgets, headers=as_bob)

    assert answer.code == 403
    assert f'User "system:serviceaccount:{api.namespace}:bob" cannot list' in answer.message


async def test_nobody_else_may_act_as_another(api: Api):
    bob = await an_account(api)

    answer = await bob.request("GET", api.widgets, headers={"Impersonate-User": "admin"})

    assert answer.code == 403
    assert f'User "system:serviceaccount:{api.namespace}:bob" cannot impersonate' in answer.message


async def test_a_user_of_the_tests_own_has_what_rbac_grants(embedded: Api):
    joe = embedded.with_token(embedded.server.add_user("joe", ["testers"]))
    role = {"metadata": {"name": "readers"}, "rules": [rule("list")]}
    binding = {
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "readers"},
        "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "testers"}],
    }

    before = await joe.get(embedded.widgets)
    await embedded.post(f"{ROLES}/clusterroles", role)
    await embedded.post(f"{ROLES}/clusterrolebindings", binding)
    after = await joe.get(embedded.widgets)

    assert (before.code, after.code) == (403, 200)
