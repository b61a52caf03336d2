"""What a valid JobTemplate is: one whose spec Volcano takes as a Job's, in a JobFlow of some name.

One function is one rule; its docstring is the rule as a user hears it. The rules for tasks, policies and pod templates
lie in `job/`; here are those for the Job as a whole, and `ON_JOBTEMPLATE`, the whole policy.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.api.job_spec import JobSpec, JobTemplateInFull
from shared.api.meta import ObjectMeta
from shared.flow import names
from shared.rules.difference import meaning
from shared.rules.fault import SPEC, Fault, duplicate, forbidden, invalid, not_found, not_supported, required, too_long
from shared.rules.formats import is_duration
from shared.rules.job import containers, fields, pods, policies, probes, resources, tasks, topology
from shared.rules.room import A_SUBDOMAIN
from shared.rules.rule import DocumentOrder, Rule, judge

PLUGINS: Final = ("ssh", "env", "svc", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")
"""Those that Volcano's Job controller has."""

ROOT_QUEUE: Final = "root"

DEFAULTS: Final = {
    "queue": "default",
    "maxRetry": 3,
    "networkTopology": {"mode": "hard"},
    "tasks": [{"partitionPolicy": {"minPartitions": 0, "networkTopology": {"mode": "hard"}}}],
}
"""What the CRD's schema puts where a field of the spec is missing, in the shape that `difference.meaning` wants."""


def faults_in_jobtemplate(template: JobTemplateInFull) -> list[Fault]:
    """Every reason to refuse a JobTemplate, in the order of the document."""
    return judge(ON_JOBTEMPLATE, template, ORDER)


@Rule
def plugins_are_known(template: JobTemplateInFull) -> Iterator[Fault]:
    """A plugin is one that Volcano has."""
    for name in _plugins(template):
        if name not in PLUGINS:
            yield not_supported((SPEC / "plugins").key(name), name, PLUGINS)


@Rule
def mpi_has_its_master(template: JobTemplateInFull) -> Iterator[Fault]:
    """With the `mpi` plugin there is a task for its master: `master`, or what `--master` says."""
    arguments = _plugins(template).get("mpi")
    if arguments is None or not template.tasks:
        return
    master = _flag("master", arguments, otherwise="master")
    known = [tasks.task_name(i, task) for i, task in enumerate(template.tasks)]
    if master not in known:
        yield not_found((SPEC / "plugins").key("mpi"), master, "the master must be an entry of spec.tasks", among=known)


@Rule
def queue_is_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """The queue has a DNS-1123 name, and is not `root`, which takes no Jobs. Whether it exists is not looked up."""
    queue = template.spec.queue if template.spec else None
    if queue == ROOT_QUEUE:
        yield invalid(SPEC / "queue", queue, "must not be the root queue, which takes no Jobs")
    elif queue and len(queue) > names.LONGEST_SUBDOMAIN:
        yield too_long(SPEC / "queue", names.LONGEST_SUBDOMAIN)
    elif queue and not names.is_subdomain(queue):
        yield invalid(SPEC / "queue", queue, f"must be {A_SUBDOMAIN}")


@Rule
def job_names_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """The priority class has a DNS-1123 name, the scheduler's has at most 63 characters."""
    spec = template.spec
    if not spec:
        return
    if len(spec.scheduler_name or "") > names.LONGEST_LABEL:
        yield too_long(SPEC / "schedulerName", names.LONGEST_LABEL)
    priority = spec.priority_class_name
    if priority is not None and len(priority) > names.LONGEST_SUBDOMAIN:
        yield too_long(SPEC / "priorityClassName", names.LONGEST_SUBDOMAIN)
    elif priority is not None and not names.is_subdomain(priority):
        yield invalid(SPEC / "priorityClassName", priority, f"must be {A_SUBDOMAIN}")


@Rule
def running_estimate_is_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """`runningEstimate` is a duration such as `2h`."""
    estimate = template.spec.running_estimate if template.spec else None
    if estimate is not None and not is_duration(estimate):
        yield invalid(SPEC / "runningEstimate", estimate, "must be a duration such as 300s, 10m or 1h30m")


@Rule
def volumes_are_valid(template: JobTemplateInFull) -> Iterator[Fault]:
    """A volume of a Job has a path of its own, and either a claim or the name of one."""
    seen = set[str]()
    for k, volume in enumerate((template.spec.volumes or ()) if template.spec else ()):
        at, path, name = SPEC / "volumes" / k, volume.mount_path or "", volume.volume_claim_name or ""
        if not path:
            yield required(at / "mountPath")
        elif path in seen:
            yield duplicate(at / "mountPath", path)
        elif ":" in path:
            yield invalid(at / "mountPath", path, 'must not have ":" in it')
        seen.add(path)
        if name and volume.volume_claim is not None:
            yield forbidden(at / "volumeClaim", "may not be given beside volumeClaimName, which names an existing one")
        elif not name and meaning(volume.volume_claim) is None:
            yield required(at / "volumeClaim", "must be given, or else volumeClaimName")
        elif len(name) > names.LONGEST_SUBDOMAIN:
            yield too_long(at / "volumeClaimName", names.LONGEST_SUBDOMAIN)
        elif name and not names.is_subdomain(name):
            yield invalid(at / "volumeClaimName", name, f"must be {A_SUBDOMAIN}")


ON_JOBTEMPLATE: Final[tuple[Rule[JobTemplateInFull], ...]] = (
    *tasks.RULES,
    *topology.RULES,
    *policies.RULES,
    plugins_are_known,
    mpi_has_its_master,
    queue_is_valid,
    job_names_are_valid,
    running_estimate_is_valid,
    volumes_are_valid,
    *pods.RULES,
    *containers.RULES,
    *resources.RULES,
    *probes.RULES,
    *fields.RULES,
)

ORDER: Final = DocumentOrder(metadata=ObjectMeta, spec=JobSpec)


def _plugins(template: JobTemplateInFull) -> dict[str, Sequence[str]]:
    """Plugins with their arguments. One that is null is none: the API server drops it."""
    plugins = (template.spec.plugins or {}) if template.spec else {}
    return {name: arguments for name, arguments in plugins.items() if arguments is not None}


def _flag(name: str, arguments: Sequence[str], otherwise: str) -> str:
    """What a flag says, read as Go's `flag` package reads it: `--x=v`, `-x v`, up to the first that is no flag."""
    value = otherwise
    rest = iter(arguments)
    for argument in rest:
        flag = argument.removeprefix("-").removeprefix("-")
        if flag == argument or not flag:
            break
        key, given, written = flag.partition("=")
        written = written if given else next(rest, "")
        value = written if key == name else value
    return value
