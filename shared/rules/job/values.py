"""What the values in a Pod's template must be beyond their types, where no rule of its own looks: `CHECKS`.

Kubernetes judges a pod template so, and Volcano's webhook has it do that. A check is written beside the field of the
definition in `shapes.txt` that it is for; in a list or a map it is for each item.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.flow import names
from shared.rules.fault import Fault, FieldPath, invalid, required
from shared.rules.formats import is_ip, is_label_value, is_port, is_port_name, is_qualified_name
from shared.rules.room import A_LABEL, A_SUBDOMAIN


@dataclass(frozen=True, slots=True)
class Check:
    """What a value, or each of several, must be. What is empty is missing, unless that is fine, or judged as any."""

    is_right: Callable[[Any], bool]
    why: str
    empty: str = "missing"

    def fits(self, value: Any) -> bool:
        """Whether there is nothing to tell."""
        if type(value) is list:
            return bool(value or self.empty != "missing") and all(map(self._fits_item, value))
        if type(value) is dict:
            return all(item is None or self._fits_item(item) for item in value.values())
        return self.empty == "fine" if value == "" and self.empty != "judged" else self.is_right(value)

    def faults(self, value: Any, at: FieldPath) -> Iterator[Fault]:
        """Those of the value, or of its items."""
        if value in ("", []) and self.empty == "missing":
            yield required(at)
        elif type(value) in (list, dict):
            places = (
                ((at / i, item) for i, item in enumerate(value))
                if type(value) is list
                else ((at.key(key), item) for key, item in value.items() if item is not None)
            )
            yield from (invalid(place, item, self.must) for place, item in places if not self._fits_item(item))
        elif not self.fits(value):
            yield invalid(at, value, self.must)

    @property
    def must(self) -> str:
        """The words of a fault."""
        return f"must be {self.why}"

    def _fits_item(self, item: Any) -> bool:
        return (item == "" and self.empty == "fine") or self.is_right(item)

    def or_empty(self) -> "Check":
        """The same, but for empty values, which stand for none."""
        return Check(self.is_right, self.why, "fine")

    def even_empty(self) -> "Check":
        """The same for empty values as well."""
        return Check(self.is_right, self.why, "judged")


_IQN: Final = re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[a-z0-9.-]*[a-z0-9](:[^,;*&$|\s]+)?", re.ASCII)
_EUI: Final = re.compile(r"eui\.[a-zA-Z0-9]{16}", re.ASCII)
_NAA: Final = re.compile(r"naa\.[a-zA-Z0-9]{32}", re.ASCII)
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+", re.ASCII)
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_SYSCTL: Final = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", re.ASCII)
_DRIVER: Final = re.compile(
    r"[a-z0-9A-Z]([-a-z0-9A-Z]*[a-z0-9A-Z])?(\.[a-z0-9A-Z]([-a-z0-9A-Z]*[a-z0-9A-Z])?)*", re.ASCII
)
_SUBSCRIPT: Final = re.compile(r"metadata\.(?:annotations|labels)\['([^']+)'\]")


def _is_relative(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _is_iscsi(name: str) -> bool:
    return len(name) <= 223 and any(known.fullmatch(name) for known in (_IQN, _EUI, _NAA))


def _is_key(key: str) -> bool:
    return len(key) <= names.LONGEST_SUBDOMAIN and bool(_KEY.fullmatch(key)) and key != "." and not key.startswith("..")


def is_field_of_env(field: str) -> bool:
    """What a variable may tell of its Pod."""
    return field in FIELDS_OF_ENV or _is_subscript(field)


def is_field_of_file(field: str) -> bool:
    """What a file in a volume may tell of its Pod."""
    return field in FIELDS_OF_FILES or _is_subscript(field)


def _is_subscript(field: str) -> bool:
    found = _SUBSCRIPT.fullmatch(field)
    return found is not None and is_qualified_name(found[1].lower() if ".annotations[" in field else found[1])


def _is_resource(name: str) -> bool:
    kind, _, resource = name.partition(".")
    return kind in ("limits", "requests") and (
        resource in ("cpu", "memory", "ephemeral-storage") or resource.startswith("hugepages-")
    )


def _is_endpoints(text: str) -> bool:
    return all(":" in part and all(part.rsplit(":", 1)) for part in text.split(","))


def _is_probe_port(port: Any) -> bool:
    return is_port_name(port) if isinstance(port, str) else is_port(port)


def _within(least: int, most: int) -> Check:
    return Check(lambda number: least <= number <= most, f"between {least} and {most}, inclusive")


FIELDS_OF_FILES: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations",
)  # fmt: skip
FIELDS_OF_ENV: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip

A_KEY: Final = (
    'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends, '
    'and may have a domain and "/" before it'
)

GIVEN: Final = Check(lambda _: True, "given")
SUBDOMAIN: Final = Check(names.is_subdomain, A_SUBDOMAIN)
LABEL: Final = Check(names.is_label, A_LABEL)
KEY: Final = Check(
    is_qualified_name,
    A_KEY,
    "judged",
)
VALUE: Final = Check(
    is_label_value, 'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends', "fine"
)
RELATIVE: Final = Check(_is_relative, 'a relative path without ".."')
FREE_OF_BACKSTEPS: Final = Check(lambda path: ".." not in path.split("/"), 'a path without ".."')
ABSOLUTE: Final = Check(lambda path: path.startswith("/"), "an absolute path")
MODE: Final = _within(0, 0o777)
ID: Final = _within(0, 2**31 - 1)
CONFIG_KEY: Final = Check(_is_key, 'letters, digits, "-", "_" and "."')
A_FIELD: Final = "a field that Pods tell of themselves, such as metadata.name"


def _words(*words: str) -> Check:
    return Check(lambda word: word in words, f"one of {', '.join(words)}")


CHECKS: Final[Mapping[str, Check]] = {
    "AWSElasticBlockStoreVolumeSource.partition": _within(0, 255),
    "AWSElasticBlockStoreVolumeSource.volumeID": GIVEN,
    "AzureDiskVolumeSource.diskName": GIVEN,
    "AzureDiskVolumeSource.diskURI": GIVEN,
    "AzureFileVolumeSource.secretName": GIVEN,
    "AzureFileVolumeSource.shareName": GIVEN,
    "CSIVolumeSource.driver": Check(lambda text: len(text) <= 63 and bool(_DRIVER.fullmatch(text)), A_SUBDOMAIN),
    "CephFSVolumeSource.monitors": GIVEN,
    "CinderVolumeSource.volumeID": GIVEN,
    "ConfigMapEnvSource.name": SUBDOMAIN,
    "ConfigMapKeySelector.key": CONFIG_KEY,
    "ConfigMapKeySelector.name": SUBDOMAIN,
    "ConfigMapProjection.name": GIVEN,
    "ConfigMapVolumeSource.defaultMode": MODE,
    "ConfigMapVolumeSource.name": GIVEN,
    "ContainerResizePolicy.resourceName": _words("cpu", "memory"),
    "ContainerResizePolicy.restartPolicy": _words("NotRequired", "RestartContainer"),
    "ContainerRestartRule.action": _words("Restart", "RestartAllContainers"),
    "ContainerRestartRuleOnExitCodes.operator": _words("In", "NotIn"),
    "ContainerRestartRuleOnExitCodes.values": GIVEN,
    "DownwardAPIVolumeFile.mode": MODE,
    "DownwardAPIVolumeFile.path": RELATIVE,
    "DownwardAPIVolumeSource.defaultMode": MODE,
    "ExecAction.command": GIVEN,
    "FCVolumeSource.lun": _within(0, 255),
    "FlexVolumeSource.driver": GIVEN,
    "FlockerVolumeSource.datasetName": Check(lambda name: "/" not in name, 'without "/"', "fine"),
    "GCEPersistentDiskVolumeSource.partition": _within(0, 255),
    "GCEPersistentDiskVolumeSource.pdName": GIVEN,
    "GitRepoVolumeSource.directory": RELATIVE.or_empty(),
    "GitRepoVolumeSource.repository": GIVEN,
    "GlusterfsVolumeSource.endpoints": GIVEN,
    "GlusterfsVolumeSource.path": GIVEN,
    "HTTPGetAction.port": Check(_is_probe_port, "a number from 1 to 65535 or the name of a port", "judged"),
    "HTTPHeader.name": Check(lambda name: bool(_HEADER.fullmatch(name)), 'letters, digits and "-"', "judged"),
    "HostPathVolumeSource.path": FREE_OF_BACKSTEPS,
    "ISCSIVolumeSource.initiatorName": Check(_is_iscsi, "a name that begins with iqn., eui. or naa.", "judged"),
    "ISCSIVolumeSource.iqn": Check(_is_iscsi, "a name that begins with iqn., eui. or naa."),
    "ISCSIVolumeSource.lun": _within(0, 255),
    "ISCSIVolumeSource.targetPortal": GIVEN,
    "KeyToPath.key": GIVEN,
    "KeyToPath.mode": MODE,
    "KeyToPath.path": RELATIVE,
    "LabelSelector.matchLabels": VALUE,
    "LabelSelectorRequirement.key": KEY,
    "LabelSelectorRequirement.operator": _words("In", "NotIn", "Exists", "DoesNotExist"),
    "LabelSelectorRequirement.values": VALUE,
    "NFSVolumeSource.path": ABSOLUTE,
    "NFSVolumeSource.server": GIVEN,
    "NodeSelector.nodeSelectorTerms": GIVEN,
    "NodeSelectorRequirement.key": KEY,
    "ObjectFieldSelector.apiVersion": Check(lambda version: version == "v1", "v1", "fine"),
    "PersistentVolumeClaimSpec.accessModes": GIVEN,
    "PersistentVolumeClaimSpec.storageClassName": SUBDOMAIN.or_empty(),
    "PersistentVolumeClaimSpec.volumeAttributesClassName": SUBDOMAIN.or_empty(),
    "PersistentVolumeClaimVolumeSource.claimName": GIVEN,
    "PhotonPersistentDiskVolumeSource.pdID": GIVEN,
    "PodAffinityTerm.matchLabelKeys": KEY,
    "PodAffinityTerm.mismatchLabelKeys": KEY,
    "PodAffinityTerm.namespaces": LABEL.even_empty(),
    "PodAffinityTerm.topologyKey": Check(is_qualified_name, KEY.why),
    "PodDNSConfig.nameservers": Check(is_ip, "an IP address such as 10.9.8.7 or 2001:db8::ffff", "judged"),
    "PodDNSConfig.searches": Check(lambda domain: names.is_subdomain(domain.removesuffix(".")), A_SUBDOMAIN, "judged"),
    "PodDNSConfigOption.name": GIVEN,
    "PodOS.name": _words("linux", "windows"),
    "PodReadinessGate.conditionType": KEY,
    "PodResourceClaim.name": LABEL,
    "PodResourceClaim.resourceClaimName": SUBDOMAIN.even_empty(),
    "PodResourceClaim.resourceClaimTemplateName": SUBDOMAIN.even_empty(),
    "PodSchedulingGate.name": KEY,
    "PodSecurityContext.fsGroup": ID,
    "PodSecurityContext.runAsGroup": ID,
    "PodSecurityContext.runAsUser": ID,
    "PodSecurityContext.seLinuxChangePolicy": _words("MountOption", "Recursive"),
    "PodSecurityContext.supplementalGroups": ID.or_empty(),
    "PortworxVolumeSource.volumeID": GIVEN,
    "PreferredSchedulingTerm.weight": _within(1, 100),
    "ProjectedVolumeSource.defaultMode": MODE,
    "QuobyteVolumeSource.registry": Check(_is_endpoints, "host:port, or several with commas between"),
    "QuobyteVolumeSource.tenant": Check(lambda text: len(text) <= 64, "at most 64 characters", "fine"),
    "QuobyteVolumeSource.volume": GIVEN,
    "RBDVolumeSource.image": GIVEN,
    "RBDVolumeSource.monitors": GIVEN,
    "ResourceClaim.request": LABEL.or_empty(),
    "ResourceFieldSelector.resource": Check(_is_resource, "limits or requests of a resource, as in limits.cpu"),
    "ScaleIOVolumeSource.gateway": GIVEN,
    "ScaleIOVolumeSource.system": GIVEN,
    "ScaleIOVolumeSource.volumeName": GIVEN,
    "SecretEnvSource.name": SUBDOMAIN,
    "SecretKeySelector.key": CONFIG_KEY,
    "SecretKeySelector.name": SUBDOMAIN,
    "SecretProjection.name": GIVEN,
    "SecretVolumeSource.defaultMode": MODE,
    "SecretVolumeSource.secretName": GIVEN,
    "SecurityContext.runAsGroup": ID,
    "SecurityContext.runAsUser": ID,
    "ServiceAccountTokenProjection.expirationSeconds": _within(600, 2**32),
    "ServiceAccountTokenProjection.path": RELATIVE,
    "StorageOSVolumeSource.volumeName": LABEL,
    "StorageOSVolumeSource.volumeNamespace": LABEL.or_empty(),
    "Sysctl.name": Check(
        lambda name: len(name) <= names.LONGEST_SUBDOMAIN and bool(_SYSCTL.fullmatch(name)), "the name of a sysctl"
    ),
    "TCPSocketAction.port": Check(_is_probe_port, "a number from 1 to 65535 or the name of a port", "judged"),
    "Toleration.key": Check(is_qualified_name, KEY.why, "fine"),
    "TypedLocalObjectReference.kind": GIVEN,
    "TypedLocalObjectReference.name": GIVEN,
    "TypedObjectReference.kind": GIVEN,
    "TypedObjectReference.name": GIVEN,
    "VsphereVirtualDiskVolumeSource.volumePath": GIVEN,
    "WeightedPodAffinityTerm.weight": _within(1, 100),
}

MUST_BE_THERE: Final[Mapping[str, tuple[str, ...]]] = {
    "ConfigMapEnvSource": ("name",),
    "ConfigMapKeySelector": ("name",),
    "ConfigMapProjection": ("name",),
    "ConfigMapVolumeSource": ("name",),
    "ExecAction": ("command",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "EphemeralVolumeSource": ("volumeClaimTemplate",),
    "PodDNSConfigOption": ("name",),
    "ScaleIOVolumeSource": ("volumeName",),
    "SecretEnvSource": ("name",),
    "SecretKeySelector": ("name",),
    "SecretProjection": ("name",),
    "SecretVolumeSource": ("secretName",),
    "StorageOSVolumeSource": ("volumeName",),
}
"""Fields that the published types leave out and the validation wants."""
