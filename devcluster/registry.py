"""Which resources are served at the moment: the built-in ones, and those of CustomResourceDefinitions."""

from collections.abc import Iterable

from devcluster.resources import Resource

Path = tuple[str, str, str]  # group, version, plural


class Registry:
    """All resources by path, group and storage."""

    def __init__(self, builtin: Iterable[Resource]) -> None:
        self.changes = 0  # grows with every change, so that documents made from this can be kept
        self._by_path: dict[Path, Resource] = {}
        for resource in builtin:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource, instead of what was served under its path before."""
        self._by_path[resource.group, resource.version, resource.plural] = resource
        self.changes += 1

    def remove(self, resource: Resource) -> None:
        """Serve it no longer."""
        self._by_path.pop((resource.group, resource.version, resource.plural), None)
        self.changes += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return what is served under that path."""
        return self._by_path.get((group, version, plural))

    def all(self) -> list[Resource]:
        """Return all resources, in the order in which they came."""
        return list(self._by_path.values())

    def stored_at(self, storage: str) -> Resource | None:
        """Return a resource that shows what is stored there, in the form in which it is stored if there is one."""
        fitting = [resource for resource in self._by_path.values() if resource.storage == storage]
        return next((resource for resource in fitting if resource.from_stored is None), next(iter(fitting), None))

    def buckets(self) -> list[Resource]:
        """Return one resource for each place of storage."""
        return list(
            {resource.storage: self.stored_at(resource.storage) or resource for resource in self.all()}.values()
        )

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource that manifests mean by this apiVersion and kind."""
        return next((r for r in self._by_path.values() if r.kind == kind and r.api_version == api_version), None)

    def groups(self) -> dict[str, list[str]]:
        """Return every group but the core one with its versions."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self._by_path:
            if group and version not in found.setdefault(group, []):
                found[group].append(version)
        return found

    def of_version(self, group: str, version: str) -> list[Resource]:
        """Return what one group and version has."""
        return [r for (g, v, _), r in self._by_path.items() if (g, v) == (group, version)]
