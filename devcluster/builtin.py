"""The resources that are there from the start, as plain storage: nobody schedules Pods or rolls out Deployments."""

from devcluster import events
from devcluster.resources import JSON, Column, Resource

AGE = Column("Age", "date", ".metadata.creationTimestamp")
CREATED_AT = Column("Created At", "string", ".metadata.creationTimestamp")
STATUS = frozenset({"status"})

READ_ONLY_REVIEW = ("create",)


def _event_object(event: JSON) -> str:
    about = event.get("involvedObject") or event.get("regarding") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_message(event: JSON) -> str:
    return str(event.get("message") or event.get("note") or "").strip()


def _last_seen(event: JSON) -> object:
    series = event.get("series") or {}
    seen = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    return seen or event.get("eventTime") or event["metadata"].get("creationTimestamp")


def _ready(deployment: JSON) -> str:
    wanted = (deployment.get("spec") or {}).get("replicas", 1)
    return f"{(deployment.get('status') or {}).get('readyReplicas', 0)}/{wanted}"


def _containers_ready(pod: JSON) -> str:
    ready = sum(bool(status.get("ready")) for status in (pod.get("status") or {}).get("containerStatuses") or ())
    return f"{ready}/{len((pod.get('spec') or {}).get('containers') or ())}"


def _restarts(pod: JSON) -> int:
    return sum(status.get("restartCount", 0) for status in (pod.get("status") or {}).get("containerStatuses") or ())


def _data(obj: JSON) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _ports(service: JSON) -> str:
    ports = (service.get("spec") or {}).get("ports") or ()
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


EVENT_COLUMNS = (
    Column("Last Seen", "date", cell=_last_seen),
    Column("Type", "string", ".type"),
    Column("Reason", "string", ".reason"),
    Column("Object", "string", cell=_event_object),
    Column("Message", "string", cell=_event_message),
    Column("Name", "string", ".metadata.name", "Name must be unique within a namespace.", priority=1),
)

CORE = (
    Resource(
        "", "v1", "Namespace", "namespaces", "namespace", False, ("ns",), (), frozenset({"status", "finalize"}),
        columns=(Column("Status", "string", ".status.phase"), AGE),
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
    ),
    Resource("", "v1", "Event", "events", "event", True, ("ev",), columns=EVENT_COLUMNS),
    Resource("", "v1", "ConfigMap", "configmaps", "configmap", True, ("cm",),
             columns=(Column("Data", "integer", cell=_data), AGE)),
    Resource("", "v1", "Secret", "secrets", "secret", True,
             columns=(Column("Type", "string", ".type"), Column("Data", "integer", cell=_data), AGE)),
    Resource("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", True, ("sa",), (), frozenset({"token"}),
             columns=(AGE,)),
    Resource(
        "", "v1", "Service", "services", "service", True, ("svc",), ("all",), STATUS,
        columns=(
            Column("Type", "string", ".spec.type"),
            Column("Cluster-IP", "string", ".spec.clusterIP"),
            Column("Port(s)", "string", cell=_ports),
            AGE,
        ),
    ),
    Resource(
        "", "v1", "Pod", "pods", "pod", True, ("po",), ("all",), STATUS,
        columns=(
            Column("Ready", "string", cell=_containers_ready),
            Column("Status", "string", ".status.phase"),
            Column("Restarts", "integer", cell=_restarts),
            AGE,
        ),
    ),
    Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", True, ("pvc",), (),
             STATUS, columns=(Column("Status", "string", ".status.phase"), AGE)),
)  # fmt: skip

REVIEWS = tuple(
    Resource(f"{group}.k8s.io", "v1", kind, f"{kind.lower()}s", kind.lower(), namespaced, verbs=READ_ONLY_REVIEW)
    for group, kind, namespaced in (
        ("authentication", "SelfSubjectReview", False),
        ("authorization", "SelfSubjectAccessReview", False),
        ("authorization", "SelfSubjectRulesReview", False),
        ("authorization", "SubjectAccessReview", False),
        ("authorization", "LocalSubjectAccessReview", True),
    )
)

CRDS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "customresourcedefinition",
    False, ("crd", "crds"), ("api-extensions",), STATUS, columns=(CREATED_AT,), has_generation=True,
)  # fmt: skip

VALIDATING = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
    "validatingwebhookconfiguration", False, (), ("api-extensions",), has_generation=True,
    columns=(Column("Webhooks", "integer", cell=lambda obj: len(obj.get("webhooks") or ())), AGE),
)  # fmt: skip

MUTATING = Resource(
    "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
    "mutatingwebhookconfiguration", False, (), ("api-extensions",), has_generation=True,
    columns=(Column("Webhooks", "integer", cell=lambda obj: len(obj.get("webhooks") or ())), AGE),
)  # fmt: skip


def _role_ref(binding: JSON) -> str:
    ref = binding.get("roleRef") or {}
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


ROLE = Column("Role", "string", cell=_role_ref)

OTHERS = (
    Resource("events.k8s.io", "v1", "Event", "events", "event", True, ("ev",), columns=EVENT_COLUMNS,
             stored_as="events", to_stored=events.to_core, from_stored=events.from_core),
    Resource("coordination.k8s.io", "v1", "Lease", "leases", "lease", True,
             columns=(Column("Holder", "string", ".spec.holderIdentity"), AGE)),
    Resource(
        "apps", "v1", "Deployment", "deployments", "deployment", True, ("deploy",), ("all",), STATUS,
        columns=(
            Column("Ready", "string", cell=_ready),
            Column("Up-to-date", "integer", ".status.updatedReplicas"),
            Column("Available", "integer", ".status.availableReplicas"),
            AGE,
        ),
        has_generation=True,
    ),
    Resource("batch", "v1", "CronJob", "cronjobs", "cronjob", True, ("cj",), ("all",), STATUS, has_generation=True,
             columns=(Column("Schedule", "string", ".spec.schedule"), AGE)),
    Resource("batch", "v1", "Job", "jobs", "job", True, (), ("all",), STATUS, has_generation=True, columns=(AGE,)),
    Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", True, ("pdb",), (),
             STATUS, has_generation=True, columns=(AGE,)),
    Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "networkpolicy", True, ("netpol",),
             has_generation=True, columns=(AGE,)),
    Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", "role", True, columns=(CREATED_AT,)),
    Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "clusterrole", False,
             columns=(CREATED_AT,)),
    Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "rolebinding", True,
             columns=(ROLE, AGE)),
    Resource("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "clusterrolebinding",
             False, columns=(ROLE, AGE)),
)  # fmt: skip

BUILTIN = (*CORE, CRDS, VALIDATING, MUTATING, *OTHERS, *REVIEWS)
