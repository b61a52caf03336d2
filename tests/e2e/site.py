"""Offers a cluster to install into as a user does: a real API server, its controllers, and helm.

Pods are run by a player of the kubelet, and the API server reaches Services through a player of the network; Volcano's
Job CRD is there, and so can be a player of Volcano's Jobs. Everything else is what `helm install` brings.
"""

import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.support.binaries import require_binaries
from tests.support.helm import CHART, Helm, require_helm
from tests.support.kube_apiserver import KubeApiserver
from tests.support.kubectl import Kubectl, documents
from tests.support.kubelet import CONTROLLERS, Kubelet, Run
from tests.support.kubelet_api import Api, Refusal
from tests.support.kubelet_network import Network
from tests.support.programs import Program
from tests.support.volcano_crds import volcano_crds
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RUNNABLE = {
    "diamond": ["diamond.yaml"],
    "ml-pipeline": ["ml-pipeline/01-jobtemplates.yaml", "ml-pipeline/02-jobflow.yaml"],
    "nightly-report": ["nightly-report.yaml"],
}

Volcano = Literal["none", "jobs", "jobflows"]

SYSTEM = "jobflow-system"
"""The namespace that JobFlow is installed into; only Pods of the standard `restricted` may run in it."""

RESTRICTED = ("enforce=restricted", "enforce-version=latest")

QUICK = {
    "webhook": {"preStopSeconds": 1, "shutdownDelay": "1s"},
    "certs": {"extraArgs": ["--bundle-wait=3s", "--secret-wait=3s"]},
}
"""Waits that suit a kubelet that looks twice a second and one API server."""

JOBFLOWS = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows"


@dataclass
class Site:
    """The cluster, and who works on it."""

    server: KubeApiserver
    kubectl: Kubectl
    helm: Helm
    kubelet: Kubelet
    network: Network
    api: Api
    dir: Path
    release: str = "demo"
    values: dict[str, Any] = field(default_factory=lambda: dict(QUICK))

    @property
    def system(self) -> Kubectl:
        """kubectl in the namespace of the release."""
        return self.kubectl.within(SYSTEM)

    def install(self, chart: Path = CHART, **values: Any) -> None:
        """Install the release, and return once Helm says that it is there."""
        self._helm("install", chart, values)

    def upgrade(self, chart: Path = CHART, **values: Any) -> None:
        """Upgrade the release, and return once Helm says that it is there."""
        self._helm("upgrade", chart, values)

    def uninstall(self) -> None:
        """Uninstall the release, and return once its Pods have gone."""
        self.helm("uninstall", self.release, "--namespace", SYSTEM, "--wait", "--timeout=60s")
        assert eventually(lambda: not self.system.by_name("pods"), timeout=40), self.system("get", "pods")

    def pods(self, component: str) -> list[Run]:
        """The Pods of a component that are ready."""
        return [run for run in self.kubelet.pods(SYSTEM, component) if run.is_ready]

    @contextmanager
    def player(self, namespace: str = "default") -> Iterator[Program]:
        """Every Job of the namespace runs for a moment and completes."""
        arguments = [f"--kubeconfig={self.kubectl.kubeconfig}", f"--namespace={namespace}", "--delay=0.05"]
        with Program("devcluster", ["play", *arguments, "--speed=20"], self.dir / f"player-{namespace}.log") as player:
            yield player

    def run_example(self, name: str, namespace: str = "default") -> None:
        """Apply an example, and return once it is at Succeed."""
        kubectl = self.kubectl.within(namespace)
        files = [EXAMPLES / file for file in RUNNABLE[name]]
        for file in files:
            kubectl("apply", "-f", str(file))
        (jobflow,) = [each for each in documents(*files) if each["kind"] == "JobFlow"]
        self.finishes(jobflow["metadata"]["name"], namespace)

    def finishes(self, jobflow: str, namespace: str = "default") -> None:
        """Return once the JobFlow is at Succeed."""
        succeed = ("--for=jsonpath={.status.state.phase}=Succeed", "--timeout=60s")
        self.kubectl.within(namespace)("wait", *succeed, f"jobflow/{jobflow}")

    def judged(self, jobflow: dict[str, Any] | None = None) -> str:
        """Offer a JobFlow as a dry run: empty if it is taken, else the words of the refusal. Raises for anything else.

        So a webhook that cannot be reached is no refusal.
        """
        try:
            self.api("POST", f"{JOBFLOWS}?dryRun=All", jobflow or a_jobflow("extract"))
        except Refusal as refusal:
            if refusal.status == 422:
                return str(refusal)
            raise
        return ""

    def certs_job(self, name: str) -> None:
        """Run what the CronJob runs, and return once it has ended well."""
        self.system("create", "job", name, f"--from=cronjob/{self.release}-jobflow-certs")
        self.system("wait", "--for=condition=Complete", "--timeout=60s", f"job/{name}")

    def requests(self) -> Iterator[Any]:
        """The requests that the accounts of the release have sent, and under `account` which of them."""
        prefix = f"system:serviceaccount:{SYSTEM}:"
        for event in self.server.audit_events():
            account = event["user"]["username"].removeprefix(prefix).rsplit("-", 1)[-1]
            if event["user"]["username"].startswith(prefix) and account in ACCOUNTS and "objectRef" in event:
                yield {**event, "account": account}

    def left(self) -> list[str]:
        """What is left of the release anywhere, its CRDs, what is of their kinds and Events aside."""
        kinds = self.kubectl("api-resources", "--verbs=list", "-o", "name").split()
        wanted = [kind for kind in kinds if not kind.startswith(KEPT)]
        found = json.loads(self.kubectl("get", ",".join(wanted), "-A", "-o", "json"))["items"]
        return [
            f"{each['kind']}/{each['metadata']['name']}"
            for each in found
            if f"{self.release}-jobflow" in each["metadata"]["name"]
            or each["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") == "jobflow"
            or (each["metadata"].get("namespace") == SYSTEM and each["metadata"]["name"] not in OF_EVERY_NAMESPACE)
        ]

    def _helm(self, command: str, chart: Path, values: dict[str, Any]) -> None:
        where = ("--namespace", SYSTEM, "--wait", "--timeout=100s")
        done = self.helm.run(command, self.release, str(chart), *where, values=merged(self.values, values))
        assert done.returncode == 0, done.stderr + self.system("get", "pods,jobs") + str(list(self.kubelet.logs()))


ACCOUNTS = ("controller", "webhook", "certs")
KEPT = ("events", "componentstatuses", "jobflows.", "jobtemplates.", "customresourcedefinitions.")
OF_EVERY_NAMESPACE = {"default", "kube-root-ca.crt"}


@contextmanager
def running_site(volcano: Volcano = "jobs") -> Iterator[Site]:
    """Run a cluster with nothing in it but what there is of Volcano: nothing, its Job CRD, or those of JobFlows too."""
    crds = volcano_crds()
    installed = {"none": [], "jobs": [crds.job], "jobflows": [crds.job, crds.jobflow, crds.jobtemplate]}[volcano]
    with ExitStack() as stack:
        # The socket in it has to have a short path.
        directory = Path(tempfile.mkdtemp(prefix="jobflow-site-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        network = stack.enter_context(Network(directory))
        arguments = [*network.arguments, "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        server = stack.enter_context(
            KubeApiserver(require_binaries(), controllers=CONTROLLERS, arguments=arguments, audit=True, crds=installed)
        )
        kubelet = stack.enter_context(Kubelet(server))
        api = stack.enter_context(Api(server))
        network.serve(api, kubelet.port)
        kubectl = Kubectl(server.binaries.kubectl, server.kubeconfig)
        kubectl("create", "namespace", SYSTEM)
        kubectl("label", "namespace", SYSTEM, *(f"pod-security.kubernetes.io/{each}" for each in RESTRICTED))
        helm = Helm(require_helm(), directory, server.kubeconfig)
        yield Site(server, kubectl, helm, kubelet, network, api, directory)
        assert not kubelet.troubles, kubelet.troubles


@contextmanager
def steadily(work: Callable[[], object], at_least: int) -> Iterator[list[str]]:
    """Do something again and again beside the block, until it ends and was done so often; yields what went wrong."""
    failures: list[str] = []
    count = 0
    ended = threading.Event()

    def repeat() -> None:
        nonlocal count
        while not ended.is_set() or count < at_least:
            count += 1
            try:
                work()
            except Exception as failure:
                failures.append(f"{count}: {failure}")
            ended.wait(0.02)

    worker = threading.Thread(target=repeat, daemon=True)
    worker.start()
    try:
        yield failures
    finally:
        ended.set()
        worker.join(timeout=60)


def a_jobflow(*flows: str, name: str = "tried") -> dict[str, Any]:
    """A JobFlow of entries that wait for nothing."""
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name},
        "spec": {"flows": [{"name": flow} for flow in flows]},
    }


def merged(values: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Values with others over them, as Helm merges files."""
    both = {
        name: merged(values[name], over[name])
        for name in values.keys() & over.keys()
        if isinstance(values[name], dict) and isinstance(over[name], dict)
    }
    return {**values, **over, **both}
