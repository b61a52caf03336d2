"""Which cluster it is and who we are: from a kubeconfig, or from what Kubernetes puts into a pod."""

import json
import ssl
import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.config import incluster_config

from shared.api.meta import Key
from shared.kube import config
from shared.kube.client import KubeClient
from shared.kube.config import ConfigError, load, namespace_of
from shared.kube.errors import Unauthorized, Unavailable
from shared.kube.resources import JOBS

KEY = Key("ml", "a")
AUTHORITY = trustme.CA()


class Cluster:
    """An API server over TLS that takes only some Authorization headers, and remembers all."""

    def __init__(self) -> None:
        self.takes: set[str] = {"Bearer good"}
        self.came: list[str | None] = []
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.handle)
        self.server = TestServer(app, host="127.0.0.1", scheme="https")

    async def start(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        AUTHORITY.issue_cert("127.0.0.1", "cluster.example").configure_cert(context)
        await self.server.start_server(ssl=context)

    async def handle(self, request: web.Request) -> web.Response:
        authorization = request.headers.get("Authorization")
        self.came.append(authorization)
        if authorization not in self.takes:
            return web.json_response({"code": 401, "reason": "Unauthorized", "message": "Unauthorized"}, status=401)
        return web.json_response({"metadata": {"name": "a", "namespace": "ml"}})

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    cluster = Cluster()
    await cluster.start()
    yield cluster
    await cluster.server.close()


@pytest.fixture
def kubeconfig(tmp_path: Path, cluster: Cluster) -> Callable[..., Path]:
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.cert_pem.bytes())

    def write(user: dict[str, Any], **about: Any) -> Path:
        path = tmp_path / "kubeconfig"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": cluster.url, "certificate-authority": "ca.crt", **about}}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    return write


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the minute pass after which credentials are read again."""

    def pass_time() -> None:
        monkeypatch.setattr(config, "REFRESH_AFTER", -1.0)
        monkeypatch.setattr(config, "REFRESH_AT_LEAST_APART", -1.0)

    return pass_time


async def ask(client: KubeClient) -> None:
    assert (await client.get(JOBS, KEY)).key == KEY


class TestAKubeconfig:
    async def test_names_server_authority_and_token(self, kubeconfig: Callable[..., Path], cluster: Cluster) -> None:
        client = await KubeClient.connect("t", kubeconfig=kubeconfig({"token": "good"}), environ={})
        await ask(client)
        await client.close()
        assert cluster.came == ["Bearer good"]

    async def test_is_found_through_the_environment(self, kubeconfig: Callable[..., Path]) -> None:
        client = await KubeClient.connect("t", environ={"KUBECONFIG": str(kubeconfig({"token": "good"}))})
        await ask(client)
        await client.close()

    async def test_in_the_home_directory_is_the_last_resort(
        self, kubeconfig: Callable[..., Path], tmp_path: Path
    ) -> None:
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "ca.crt").write_bytes(AUTHORITY.cert_pem.bytes())
        kubeconfig({"token": "good"}).rename(tmp_path / ".kube" / "config")
        client = await KubeClient.connect("t", environ={"HOME": str(tmp_path)})
        await ask(client)
        await client.close()

    async def test_has_its_server_replaced_by_master(self, kubeconfig: Callable[..., Path], cluster: Cluster) -> None:
        path = kubeconfig({"token": "good"}, server="https://127.0.0.1:1")
        client = await KubeClient.connect("t", kubeconfig=path, master=cluster.url + "/", environ={})
        await ask(client)
        await client.close()

    async def test_may_name_the_server_that_its_certificate_is_for(
        self, kubeconfig: Callable[..., Path], cluster: Cluster
    ) -> None:
        path = kubeconfig({"token": "good"}, **{"tls-server-name": "cluster.example"})
        client = await KubeClient.connect("t", kubeconfig=path, environ={})
        await ask(client)
        await client.close()
        path = kubeconfig({"token": "good"}, **{"tls-server-name": "other.example"})
        client = await KubeClient.connect("t", kubeconfig=path, environ={})
        with pytest.raises(Unavailable, match="certificate"):
            await ask(client)
        await client.close()

    async def test_with_an_authority_that_did_not_sign_the_server_trusts_it_not(
        self, kubeconfig: Callable[..., Path], tmp_path: Path, cluster: Cluster
    ) -> None:
        path = kubeconfig({"token": "good"})
        (tmp_path / "ca.crt").write_bytes(trustme.CA().cert_pem.bytes())
        client = await KubeClient.connect("t", kubeconfig=path, environ={})
        with pytest.raises(Unavailable, match="certificate"):
            await ask(client)
        await client.close()
        assert not cluster.came, "the token was given to a stranger"

    async def test_with_a_token_file_follows_the_file(
        self, kubeconfig: Callable[..., Path], tmp_path: Path, cluster: Cluster, later: Callable[[], None]
    ) -> None:
        (tmp_path / "token").write_text("good")
        client = await KubeClient.connect("t", kubeconfig=kubeconfig({"tokenFile": "token"}), environ={})
        await ask(client)
        (tmp_path / "token").write_text("better")
        cluster.takes = {"Bearer better"}
        with pytest.raises(Unauthorized):
            await ask(client)
        later()
        await ask(client)
        await client.close()

    async def test_with_a_plugin_runs_it_again_once_its_token_has_expired(
        self, kubeconfig: Callable[..., Path], tmp_path: Path, cluster: Cluster, later: Callable[[], None]
    ) -> None:
        plugin, token = tmp_path / "plugin", tmp_path / "token"
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        plugin.write_text(
            f"#!{sys.executable}\nimport json\n"
            f"print(json.dumps({{**{credential!r}, 'status': {{'token': open({str(token)!r}).read(), "
            "'expirationTimestamp': '2020-01-01T00:00:00Z'}}))\n"
        )
        plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
        token.write_text("good")
        user = {"exec": {"apiVersion": credential["apiVersion"], "command": str(plugin), "interactiveMode": "Never"}}
        client = await KubeClient.connect("t", kubeconfig=kubeconfig(user), environ={})
        await ask(client)
        token.write_text("better")
        cluster.takes = {"Bearer better"}
        later()
        await ask(client)
        await client.close()


class TestAPod:
    @pytest.fixture
    def account(self, tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
        """A service account mounted as Kubernetes mounts it."""
        (tmp_path / "token").write_text("good\n")
        (tmp_path / "ca.crt").write_bytes(AUTHORITY.cert_pem.bytes())
        monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
        monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(cluster.server.port)}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        return environ

    async def test_uses_its_service_account(self, account: dict[str, str], cluster: Cluster) -> None:
        cluster.takes = {"bearer good"}
        client = await KubeClient.connect("t", environ=account)
        await ask(client)
        await client.close()

    async def test_takes_the_new_token_when_kubernetes_has_replaced_it(
        self, account: dict[str, str], cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster.takes = {"bearer good"}
        client = await KubeClient.connect("t", environ=account)
        await ask(client)
        (tmp_path / "token").write_text("better")
        cluster.takes = {"bearer better"}
        monkeypatch.setattr(incluster_config, "datetime", _TwoMinutesLater)
        await ask(client)
        await client.close()

    async def test_without_its_token_says_so(self, account: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "token").unlink()
        with pytest.raises(ConfigError, match=r"the pod's service account cannot be used: .*token"):
            await load(environ=account)


class _TwoMinutesLater:
    """`datetime`, two minutes on."""

    import datetime as _real

    timedelta = _real.timedelta

    class datetime(_real.datetime):  # noqa: N801 - the name that is replaced
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + _TwoMinutesLater.timedelta(minutes=2)


GARBAGE = [
    pytest.param("", id="empty"),
    pytest.param("just a word", id="a word"),
    pytest.param("[1, 2]", id="a list"),
    pytest.param("{}", id="no contexts"),
    pytest.param("a: [b", id="no YAML"),
    pytest.param(json.dumps({"current-context": "x", "contexts": []}), id="a context that is not there"),
    pytest.param("\x00\x01", id="binary"),
]


@pytest.mark.parametrize("content", GARBAGE)
async def test_a_file_that_is_no_kubeconfig_is_one_clear_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(ConfigError) as raised:
        await load(path, environ={})
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_nothing_at_all_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--kubeconfig"):
        await load(environ={"HOME": str(tmp_path)})


@pytest.mark.parametrize("master", ["127.0.0.1:6443", "ftp://127.0.0.1"])
async def test_a_master_that_is_no_url_is_refused(master: str) -> None:
    with pytest.raises(ConfigError, match="https://"):
        await load(master=master, environ={})


async def test_authorities_without_the_newest_extensions_are_trusted(
    kubeconfig: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ssl.create_default_context

    def as_in_newer_python(**options: Any) -> ssl.SSLContext:
        context = real(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", as_in_newer_python)
    connection = await load(kubeconfig({"token": "good"}), environ={})
    assert connection.tls
    assert not connection.tls.verify_flags & ssl.VERIFY_X509_STRICT
    assert connection.tls.check_hostname
    assert connection.tls.verify_mode == ssl.CERT_REQUIRED


class TestTheNamespaceThatKubectlWouldWorkIn:
    def file(self, path: Path, current: str = "", **namespaces: str | None) -> str:
        contexts = [{"name": name, "context": {"namespace": it} if it else {}} for name, it in namespaces.items()]
        path.write_text(yaml.safe_dump({"current-context": current, "contexts": contexts}))
        return str(path)

    def test_it_is_that_of_the_current_context(self, tmp_path: Path) -> None:
        assert namespace_of(self.file(tmp_path / "a", "mine", other="web", mine="ml"), {}) == "ml"

    def test_it_is_default_where_the_context_has_none(self, tmp_path: Path) -> None:
        assert namespace_of(self.file(tmp_path / "a", "mine", other="web", mine=None), {}) == "default"

    def test_of_several_files_the_first_that_says_something_wins(self, tmp_path: Path) -> None:
        first = self.file(tmp_path / "a", "", mine="ml")
        second = self.file(tmp_path / "b", "mine", mine="web")
        assert namespace_of(None, {"KUBECONFIG": f"{tmp_path}/none:{first}:{second}"}) == "ml"

    def test_it_is_default_without_any_file(self, tmp_path: Path) -> None:
        assert namespace_of(None, {"HOME": str(tmp_path)}) == "default"

    @pytest.mark.parametrize("content", ["[1, 2]", "contexts: [{nom: a}]", "{"])
    def test_a_file_that_is_no_kubeconfig_is_one_clear_line(self, content: str, tmp_path: Path) -> None:
        (tmp_path / "a").write_text(content)
        with pytest.raises(ConfigError, match=str(tmp_path / "a")):
            namespace_of(tmp_path / "a", {})
