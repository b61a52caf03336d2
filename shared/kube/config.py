"""Where the API server is and who we are: from a kubeconfig, or from what Kubernetes puts into a pod.

The official client reads both, refreshes tokens and runs credential plugins; this file chooses between them and turns
the result into what an HTTP client needs.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from shared.kube.errors import Unauthorized

log = logging.getLogger(__name__)

REFRESH_AFTER: Final = 60.0
"""Seconds after which credentials are read again, as client-go does for token files."""

REFRESH_AT_LEAST_APART: Final = 5.0
IN_CLUSTER: Final = "KUBERNETES_SERVICE_HOST"


class ConfigError(Exception):
    """There is no usable configuration; the message says so to a person."""


class Credentials(Protocol):
    """What goes into the Authorization header."""

    async def authorization(self) -> str | None:
        """The header's value, None for none. Raises Unauthorized where credentials cannot be had."""
        ...

    def refused(self) -> None:
        """The server did not take them: read them again before the next request."""
        ...


@dataclass(frozen=True)
class Connection:
    """How to reach the API server."""

    server: str
    """Its URL, without a slash at the end. It may have a path."""
    credentials: Credentials
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None


async def load(
    kubeconfig: Path | str | None = None, master: str = "", environ: Mapping[str, str] = os.environ
) -> Connection:
    """How to reach the API server, with the first of these that is there.

    `kubeconfig`; the file or files that the variable KUBECONFIG names; the pod's own account; `master` alone;
    ~/.kube/config. `master` replaces the server's URL in any of them. Raises ConfigError.
    """
    # Half a second and 20 MB: not at import, so that --help is quick and tests need not pay.
    from kubernetes.aio.client.configuration import Configuration  # noqa: PLC0415
    from kubernetes.aio.config import ConfigException  # noqa: PLC0415

    configuration = Configuration()
    in_pod = bool(environ.get(IN_CLUSTER))
    file = str(kubeconfig or "") or environ.get("KUBECONFIG", "")
    if not file and not in_pod and not master:
        file = _file_at_home(environ)
    try:
        if file:
            credentials: Credentials = await _from_file(configuration, file)
        elif in_pod:
            credentials = await _in_pod(configuration)
        elif master:
            credentials = _Nobody()
        else:
            raise ConfigError("no cluster to talk to: give --kubeconfig FILE or set KUBECONFIG")
        if master:
            configuration.host = master
        return _connection(configuration, credentials)
    except (ConfigException, OSError, ValueError) as wrong:
        where = f"kubeconfig {file}" if file else "the pod's service account"
        raise ConfigError(f"{where} cannot be used: {_first_line(wrong)}") from wrong
    except (TypeError, KeyError, AttributeError, IndexError) as wrong:
        raise ConfigError(f"{file} does not look like a kubeconfig") from wrong


def namespace_of(kubeconfig: Path | str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """The namespace that kubectl would work in: that of the kubeconfig's current context, `default` where it has none.

    Raises ConfigError.
    """
    import yaml  # noqa: PLC0415

    files = str(kubeconfig or "") or environ.get("KUBECONFIG", "") or _file_at_home(environ)
    current, contexts = "", dict[str, Any]()
    for file in filter(None, files.split(os.pathsep)):
        try:
            said = yaml.safe_load(Path(file).expanduser().read_text()) or {}
            # As in kubectl, the first file that sets a value wins.
            current = current or said.get("current-context") or ""
            for context in said.get("contexts") or ():
                contexts.setdefault(context["name"], context.get("context") or {})
        except FileNotFoundError:
            continue
        except (OSError, yaml.YAMLError) as wrong:
            raise ConfigError(f"kubeconfig {file} cannot be used: {_first_line(wrong)}") from wrong
        except (TypeError, KeyError, AttributeError) as wrong:
            raise ConfigError(f"{file} does not look like a kubeconfig") from wrong
    return str(contexts.get(current, {}).get("namespace") or "default")


def _file_at_home(environ: Mapping[str, str]) -> str:
    file = Path(environ.get("HOME", "/")) / ".kube" / "config"
    return str(file) if file.is_file() else ""


async def _in_pod(configuration: Any) -> Credentials:
    from kubernetes.aio.config import load_incluster_config  # noqa: PLC0415

    load_incluster_config(client_configuration=configuration)
    return _Refreshed(configuration, None)


async def _from_file(configuration: Any, file: str) -> Credentials:
    import yaml  # noqa: PLC0415
    from kubernetes.aio.config import load_kube_config  # noqa: PLC0415

    try:
        loader = await load_kube_config(config_file=file, client_configuration=configuration)
    except yaml.YAMLError as wrong:
        raise ConfigError(f"kubeconfig {file} is no YAML: {_first_line(wrong)}") from wrong
    return _Refreshed(configuration, loader)


def _connection(configuration: Any, credentials: Credentials) -> Connection:
    server = str(configuration.host).rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise ConfigError(f"the API server's address must begin with https:// or http://, and is {server!r}")
    return Connection(
        server=server,
        credentials=credentials,
        tls=_ssl_context(configuration) if server.startswith("https://") else None,
        server_hostname=configuration.tls_server_name or None,
        proxy=configuration.proxy or None,
    )


def _ssl_context(configuration: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    # Python 3.13 turns this on; the CAs of some real clusters (EKS) lack extensions that it insists on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class _Nobody:
    """No credentials: a bare URL."""

    async def authorization(self) -> str | None:
        return None

    def refused(self) -> None:
        pass


class _Refreshed:
    """Credentials that are read again every minute: token files change, plugins give tokens that expire.

    The official client does so by itself in a pod. What came from a kubeconfig is loaded again with its loader,
    which runs a credential plugin only once its last token has expired.
    """

    def __init__(self, configuration: Any, loader: Any) -> None:
        self._configuration = configuration
        self._loader = loader
        self._read_at = asyncio.get_running_loop().time()
        self._due = False
        self._reading = asyncio.Lock()

    async def authorization(self) -> str | None:
        age = asyncio.get_running_loop().time() - self._read_at
        if age > REFRESH_AFTER or (self._due and age > REFRESH_AT_LEAST_APART):
            async with self._reading:
                await self._read_again()
        try:
            token = (await self._configuration.auth_settings()).get("BearerToken")
        except Exception as wrong:  # the client raises what it likes; to a caller it is all the same
            raise Unauthorized(f"the token cannot be read: {_first_line(wrong)}", reason="NoCredentials") from wrong
        return str(token["value"]).strip() if token and token["value"] else None

    def refused(self) -> None:
        self._due = True

    async def _read_again(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._loader is None or now - self._read_at <= REFRESH_AT_LEAST_APART:
            return
        self._read_at, self._due = now, False
        try:
            await self._loader.load_and_set(self._configuration)
        except Exception as wrong:  # a plugin that fails today may work in a minute; what we have may still do
            log.warning("credentials cannot be refreshed", extra={"error": _first_line(wrong)})


def _first_line(wrong: BaseException) -> str:
    lines = str(wrong).strip().splitlines()
    return lines[0] if lines else type(wrong).__name__
