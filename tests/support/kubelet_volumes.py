"""Offers the volumes of a Pod as directories: Secrets, ConfigMaps, tokens and what a Pod may know of itself.

Files change as the kubelet changes them: a directory with all of them is written, and one symbolic link, `..data`, is
replaced. So whoever reads sees the old files or the new, and both of a pair.
"""

import base64
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.kubelet_api import Api, Object

Files = dict[str, bytes]
Source = Mapping[str, Any]


class NotThereYet(Exception):
    """Something that a Pod mounts does not exist: the Pod waits for it."""


class Volumes:
    """The volumes of one Pod, in a directory."""

    def __init__(self, api: Api, directory: Path, pod: Object) -> None:
        self._api = api
        self._directory = directory
        self._namespace: str = pod["metadata"]["namespace"]
        self._pod = pod
        self._tokens: dict[str, bytes] = {}

    def path(self, name: str) -> Path:
        """Where a volume lies."""
        return self._directory / "volumes" / name

    def sync(self) -> None:
        """Bring all up to date. Raises NotThereYet, having changed nothing."""
        volumes = self._pod["spec"].get("volumes", [])
        wanted = {each["name"]: self._files(each) for each in volumes}
        for name, files in wanted.items():
            replace_files(self.path(name), files)

    def forget_tokens(self) -> None:
        """Ask for new ones with the next sync, as the kubelet does before the old ones expire."""
        self._tokens.clear()

    def _files(self, volume: Object) -> Files:
        kinds: dict[str, Callable[[Source], Files]] = {
            "secret": self._secret,
            "configMap": self._config_map,
            "projected": self._projected,
            "serviceAccountToken": self._token,
            "downwardAPI": self._about_the_pod,
            "emptyDir": lambda source: {},
        }
        ((kind, source),) = ((key, value) for key, value in volume.items() if key != "name")
        return kinds[kind](source)

    def _projected(self, source: Source) -> Files:
        return {name: content for part in source["sources"] for name, content in self._files(part).items()}

    def _secret(self, source: Source) -> Files:
        name = source.get("secretName") or source["name"]
        data = self._read("secrets", name).get("data") or {}
        return self._picked({key: base64.b64decode(value) for key, value in data.items()}, source, name)

    def _config_map(self, source: Source) -> Files:
        data = self._read("configmaps", source["name"]).get("data") or {}
        return self._picked({key: value.encode() for key, value in data.items()}, source, source["name"])

    def _token(self, source: Source) -> Files:
        path = source["path"]
        if path not in self._tokens:
            account, metadata = self._pod["spec"]["serviceAccountName"], self._pod["metadata"]
            request = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "expirationSeconds": source.get("expirationSeconds", 3600),
                    "boundObjectRef": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": metadata["name"],
                        "uid": metadata["uid"],
                    },
                },
            }
            where = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/{account}/token"
            self._tokens[path] = self._api("POST", where, request)["status"]["token"].encode()
        return {path: self._tokens[path]}

    def _about_the_pod(self, source: Source) -> Files:
        return {item["path"]: field_of(self._pod, item["fieldRef"]["fieldPath"]).encode() for item in source["items"]}

    def _read(self, plural: str, name: str) -> Object:
        found = self._api.find(f"/api/v1/namespaces/{self._namespace}/{plural}/{name}")
        if found is None:
            raise NotThereYet(f"{plural}/{name}")
        return found

    def _picked(self, files: Files, source: Source, name: str) -> Files:
        items = source.get("items")
        if items is None:
            return files
        missing = {item["key"] for item in items} - files.keys()
        if missing:
            raise NotThereYet(f"{name}: {', '.join(sorted(missing))}")
        return {item["path"]: files[item["key"]] for item in items}


def field_of(pod: Object, path: str) -> str:
    """What `fieldRef` names: a scalar of the Pod."""
    found: Any = pod
    for part in path.split("."):
        found = found[part]
    return str(found)


def replace_files(directory: Path, files: Files) -> None:
    """Put these files in place of those that are there, all at once, if they differ."""
    current = directory / "..data"
    if current.is_dir() and {each.name: each.read_bytes() for each in current.iterdir()} == files:
        return
    old = current.readlink() if current.is_symlink() else None
    number = int(str(old).rsplit("-", 1)[1]) + 1 if old else 1
    made = directory / f"..version-{number}"
    made.mkdir(parents=True)
    for name, content in files.items():
        (made / name).touch(mode=0o440)
        (made / name).write_bytes(content)
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(Path("..data", name))
    new = directory / "..data_tmp"
    new.symlink_to(made.name)
    new.replace(current)
    if old:
        shutil.rmtree(directory / old)
