"""What in a Pod's template depends on something beside it, where no rule of its own looks: `RELATIONS`.

Kubernetes judges a pod template so, and Volcano's webhook has it do that. The values are of the right types here, for
whoever finds a wrong one says that alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from shared.flow import names
from shared.rules.fault import Fault, FieldPath, duplicate, forbidden, invalid, required
from shared.rules.formats import is_label_value, is_qualified_name, quantity
from shared.rules.job.values import A_FIELD, A_KEY, RELATIVE, VALUE, is_field_of_env, is_field_of_file
from shared.rules.room import A_SUBDOMAIN

Json = Mapping[str, Any]
Relation = Callable[[Json, FieldPath], Iterator[Fault]]


def one_of(*keys: str, needed: bool = True) -> Relation:
    """One of the fields is given, not more; and not none, if one is needed."""

    def judge(value: Json, at: FieldPath) -> Iterator[Fault]:
        given = [key for key in keys if value.get(key) not in (None, "", [])]
        if not given and needed:
            yield required(at, f"must have one of {', '.join(keys)}")
        for key in given[1:]:
            yield forbidden(at / key, f"may not be given beside {given[0]}")

    return judge


def _one_source(volume: Json, at: FieldPath) -> Iterator[Fault]:
    """A volume without a source is an `emptyDir`."""
    given = [key for key, source in volume.items() if key != "name" and isinstance(source, dict)]
    for key in given[1:]:
        yield forbidden(at / key, f"may not be given beside {given[0]}")


def _values_for_operator(value: Json, at: FieldPath) -> Iterator[Fault]:
    operator, values = value.get("operator"), value.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(at / "values", "must be given for In and NotIn")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(at / "values", "may not be given for Exists and DoesNotExist")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield required(at / "values", "must be one value for Gt and Lt")


def _labels_of_nodes(value: Json, at: FieldPath) -> Iterator[Fault]:
    for i, each in enumerate(value.get("matchExpressions") or ()):
        yield from _values_for_operator(each, at / "matchExpressions" / i)
    for i, each in enumerate(value.get("matchFields") or ()):
        yield from _fields_of_nodes(each, at / "matchFields" / i)


def _values_of_required_labels(value: Json, at: FieldPath) -> Iterator[Fault]:
    """Where nodes are but preferred, Kubernetes takes any text as the value of a label."""
    for i, term in enumerate(value.get("nodeSelectorTerms") or ()):
        for k, each in enumerate(term.get("matchExpressions") or ()):
            where = at / "nodeSelectorTerms" / i / "matchExpressions" / k / "values"
            for m, label in enumerate(each.get("values") or ()):
                if not is_label_value(label):
                    yield invalid(where / m, label, f"must be {VALUE.why}")


def _fields_of_nodes(value: Json, at: FieldPath) -> Iterator[Fault]:
    if value.get("key") != "metadata.name":
        yield invalid(at / "key", value.get("key"), "must be metadata.name")
    elif value.get("operator") not in ("In", "NotIn"):
        yield invalid(at / "operator", value.get("operator"), "must be In or NotIn")
    elif len(value.get("values") or ()) != 1:
        yield required(at / "values", "must be one value")
    elif not names.is_subdomain(value["values"][0]):
        yield invalid(at / "values" / 0, value["values"][0], f"must be {A_SUBDOMAIN}")


def _label_keys_need_labels(value: Json, at: FieldPath) -> Iterator[Fault]:
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        if value.get(key) and value.get("labelSelector") is None:
            yield forbidden(at / key, "may not be given without labelSelector")


def _toleration(value: Json, at: FieldPath) -> Iterator[Fault]:
    key, operator, given = value.get("key") or "", value.get("operator") or "Equal", value.get("value") or ""
    if not key and operator != "Exists":
        yield invalid(at / "operator", operator, "must be Exists without a key, which is for all keys and values")
    elif operator == "Exists" and given:
        yield invalid(at / "value", given, "must be empty for the operator Exists")
    elif operator in ("Gt", "Lt"):
        yield invalid(at / "operator", operator, "must be Equal or Exists")
    elif not is_label_value(given):
        yield invalid(at / "value", given, f"must be {VALUE.why}")
    if value.get("tolerationSeconds") is not None and value.get("effect") != "NoExecute":
        yield invalid(at / "effect", value.get("effect") or "", "must be NoExecute where tolerationSeconds is given")


def _local_profile(value: Json, at: FieldPath) -> Iterator[Fault]:
    profile, where = value.get("localhostProfile"), at / "localhostProfile"
    if value.get("type") == "Localhost" and profile is None:
        yield required(where, "must be given for the type Localhost")
    elif value.get("type") != "Localhost" and profile is not None:
        yield forbidden(where, "may only be given for the type Localhost")


def _seccomp_file(value: Json, at: FieldPath) -> Iterator[Fault]:
    profile = value.get("localhostProfile") or ""
    if value.get("type") == "Localhost" and not RELATIVE.or_empty().fits(profile):
        yield invalid(at / "localhostProfile", profile, f"must be {RELATIVE.why}")


def _app_armor_name(value: Json, at: FieldPath) -> Iterator[Fault]:
    profile = value.get("localhostProfile")
    if value.get("type") == "Localhost" and profile is not None and not profile.strip():
        yield required(at / "localhostProfile", "must be given for the type Localhost")


def _named_by_kubernetes(value: Json, at: FieldPath) -> Iterator[Fault]:
    """The metadata of a claim's template has labels and annotations; the claim's name is made."""
    for key in ("name", "namespace", "finalizers"):
        if value.get(key):
            yield forbidden(at / key, "may not be given in the template of a claim")


def _own_labels(value: Json, at: FieldPath) -> Iterator[Fault]:
    for key, text in (value.get("labels") or {}).items():
        if not is_qualified_name(key):
            yield invalid(at / "labels", key, f"must be {A_KEY}")
        if not is_label_value(text or ""):
            yield invalid((at / "labels").key(key), text, f"must be {VALUE.why}")


def _files_differ(value: Json, at: FieldPath) -> Iterator[Fault]:
    """No two files of a projected volume have one path."""
    seen = set[str]()
    for i, source in enumerate(value.get("sources") or ()):
        for path, where in _projected(source, at / "sources" / i):
            if path in seen:
                yield duplicate(where, path)
            seen.add(path)


def _projected(source: Json, at: FieldPath) -> Iterator[tuple[str, FieldPath]]:
    for key in ("secret", "configMap", "downwardAPI"):
        for k, item in enumerate((source.get(key) or {}).get("items") or ()):
            yield item["path"], at / key / "items" / k / "path"
    if token := source.get("serviceAccountToken"):
        yield token["path"], at / "serviceAccountToken" / "path"


def _privileges(value: Json, at: FieldPath) -> Iterator[Fault]:
    if value.get("allowPrivilegeEscalation") is False:
        added = (value.get("capabilities") or {}).get("add") or ()
        why = "must not be false"
        if value.get("privileged"):
            yield invalid(at / "allowPrivilegeEscalation", False, f"{why} for a privileged container")
        elif "CAP_SYS_ADMIN" in added:
            yield invalid(at / "allowPrivilegeEscalation", False, f"{why} with the capability CAP_SYS_ADMIN")


def _field_for_env(value: Json, at: FieldPath) -> Iterator[Fault]:
    yield from _field_path(value, at, is_field_of_env)


def _field_for_file(value: Json, at: FieldPath) -> Iterator[Fault]:
    yield from _field_path(value, at, is_field_of_file)
    resource = value.get("resourceFieldRef")
    if resource and not resource.get("containerName"):
        yield required(at / "resourceFieldRef" / "containerName")


def _field_path(value: Json, at: FieldPath, is_known: Callable[[str], bool]) -> Iterator[Fault]:
    path, where = (value.get("fieldRef") or {}).get("fieldPath"), at / "fieldRef" / "fieldPath"
    if path == "":
        yield required(where)
    elif path and not is_known(path):
        yield invalid(where, path, f"must be {A_FIELD}")


def _storage(value: Json, at: FieldPath) -> Iterator[Fault]:
    storage = ((value.get("resources") or {}).get("requests") or {}).get("storage")
    where = (at / "resources" / "requests").key("storage")
    amount = None if storage is None else quantity(storage)
    if storage is None:
        yield required(where)
    elif amount is not None and amount <= 0:
        yield invalid(where, storage, "must be more than 0")


def _targets(value: Json, at: FieldPath) -> Iterator[Fault]:
    if value.get("targetWWNs") and value.get("lun") is None:
        yield required(at / "lun", "must be given with targetWWNs")


def _secret_for_chap(value: Json, at: FieldPath) -> Iterator[Fault]:
    if (value.get("chapAuthDiscovery") or value.get("chapAuthSession")) and value.get("secretRef") is None:
        yield required(at / "secretRef", "must be given for CHAP")


def _sysctls(value: Json, at: FieldPath) -> Iterator[Fault]:
    seen = set[str]()
    for i, each in enumerate(value.get("sysctls") or ()):
        name = each["name"].replace("/", ".")
        if name in seen:
            yield invalid(at / "sysctls" / i / "name", each["name"], "must be given once")
        seen.add(name)


def _keys_of_labels(value: Json, at: FieldPath) -> Iterator[Fault]:
    for key in value.get("matchLabels") or ():
        if not is_qualified_name(key):
            yield invalid(at / "matchLabels", key, f"must be {A_KEY}")


def given_secret(key: str, *, is_subdomain: bool = False) -> Relation:
    """A reference to a secret, if there is one, names it."""

    def judge(value: Json, at: FieldPath) -> Iterator[Fault]:
        name = value[key].get("name") if value.get(key) is not None else "none"
        if not name:
            yield required(at / key / "name")
        elif is_subdomain and not names.is_subdomain(name):
            yield invalid(at / key / "name", name, f"must be {A_SUBDOMAIN}")

    return judge


RELATIONS: Final[Mapping[str, Sequence[Relation]]] = {
    "AppArmorProfile": [_local_profile, _app_armor_name],
    "CSIVolumeSource": [given_secret("nodePublishSecretRef", is_subdomain=True)],
    "CinderVolumeSource": [given_secret("secretRef")],
    "DownwardAPIVolumeFile": [one_of("fieldRef", "resourceFieldRef"), _field_for_file],
    "EnvVarSource": [_field_for_env],
    "FCVolumeSource": [one_of("targetWWNs", "wwids"), _targets],
    "FlockerVolumeSource": [one_of("datasetName", "datasetUUID")],
    "ISCSIVolumeSource": [_secret_for_chap],
    "LabelSelector": [_keys_of_labels],
    "LabelSelectorRequirement": [_values_for_operator],
    "LifecycleHandler": [one_of("exec", "httpGet", "sleep", "tcpSocket")],
    "NodeSelector": [_values_of_required_labels],
    "NodeSelectorTerm": [_labels_of_nodes],
    "ObjectMeta": [_named_by_kubernetes, _own_labels],
    "PersistentVolumeClaimSpec": [_storage],
    "PodAffinityTerm": [_label_keys_need_labels],
    "PodResourceClaim": [one_of("resourceClaimName", "resourceClaimTemplateName")],
    "PodSecurityContext": [_sysctls],
    "ProjectedVolumeSource": [_files_differ],
    "SeccompProfile": [_local_profile, _seccomp_file],
    "SecurityContext": [_privileges],
    "StorageOSVolumeSource": [given_secret("secretRef")],
    "Toleration": [_toleration],
    "Volume": [_one_source],
    "VolumeProjection": [
        one_of("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken",
               needed=False),
    ],
}  # fmt: skip
