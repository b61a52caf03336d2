"""What is read of the API server: with get and list alone, and without what may not be read where that can be."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from controller.why.answer import answer
from controller.why.look import NoJobFlow, look
from shared.api.meta import Key
from shared.kube.client import KubeClient
from shared.kube.errors import Forbidden
from shared.kube.transport import Answer, Guard, Request, Stream
from tests.support.builders import a_jobflow_object, a_jobtemplate_object
from tests.support.seeing import NOON

FLOW, BATCH = "/apis/flow.volcano.sh/v1alpha1", "/apis/batch.volcano.sh/v1alpha1"
JOBFLOWS = f"{FLOW}/namespaces/ml/jobflows"
TEMPLATES = f"{FLOW}/namespaces/ml/jobtemplates"
JOBS = f"{BATCH}/namespaces/ml/jobs"
EVENTS = "/api/v1/namespaces/ml/events"
LEASES = "/apis/coordination.k8s.io/v1/leases"
KEY = Key("ml", "etl")

Served = dict[str, Any]


class Api:
    """Answers reads by their path: an object, a list of objects, or a status."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.asked: list[Request] = []

    async def send(self, request: Request, guard: Guard | None = None) -> Answer:
        self.asked.append(request)
        found = self.served.get(request.path, 404)
        if isinstance(found, int):
            body = {"kind": "Status", "code": found, "reason": {404: "NotFound"}.get(found, ""), "message": "no"}
            return Answer(found, {}, json.dumps(body).encode())
        if isinstance(found, list):
            chosen = dict(request.query).get("fieldSelector", "").removeprefix("involvedObject.uid=")
            items = [it for it in found if request.path != EVENTS or it["involvedObject"]["uid"] == chosen]
            found = {"items": items, "metadata": {"resourceVersion": "7"}}
        return Answer(200, {}, json.dumps(found).encode())

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise AssertionError("nothing is watched")

    async def close(self) -> None:
        pass


def a_child(flow: str, phase: str, *, uid: str = "uid-of-etl", **status: Any) -> dict[str, Any]:
    owner = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "name": "etl", "uid": uid, "controller": True}
    return {
        "metadata": {
            "name": f"etl-{flow}",
            "namespace": "ml",
            "uid": f"uid-of-{flow}",
            "creationTimestamp": "2026-03-01T11:50:00Z",
            "annotations": {"volcano.sh/createdByJobTemplate": f"ml.{flow}"},
            "ownerReferences": [owner],
        },
        "status": {"state": {"phase": phase, **status}},
    }


def an_event(uid: str, reason: str, message: str, kind: str = "Warning", *, at: str = "11:58") -> dict[str, Any]:
    metadata = {"name": f"{uid}.1", "namespace": "ml"}
    time = f"2026-03-01T{at}:00.000000Z"
    about = {"involvedObject": {"uid": uid}, "type": kind, "reason": reason, "message": message, "eventTime": time}
    return {"metadata": metadata, **about}


def a_cluster(*flows: str, jobs: tuple[dict[str, Any], ...] = (), **status: Any) -> Served:
    jobflow = a_jobflow_object(*flows, status={"state": {"phase": "Running", **status}})
    names = [flow["name"] for flow in jobflow["spec"]["flows"]]
    return {
        f"{JOBFLOWS}/etl": jobflow,
        JOBFLOWS: [jobflow],
        TEMPLATES: [a_jobtemplate_object(name) for name in names],
        JOBS: list(jobs),
        EVENTS: [],
        LEASES: [],
    }


async def looked(served: Served) -> Any:
    return await look(KubeClient(Api(served)), KEY, lambda: NOON)


async def told(served: Served) -> Any:
    return answer(await looked(served))


async def test_nothing_is_asked_but_gets_and_lists_without_a_body() -> None:
    api = Api(a_cluster("get", "clean: get", jobs=(a_child("get", "Pending"),)))
    await look(KubeClient(api), KEY, lambda: NOON)
    assert {request.method for request in api.asked} == {"GET"}
    assert not [request for request in api.asked if request.body or dict(request.query).get("watch")]


async def test_the_jobflow_is_read_before_its_jobs_so_that_what_is_missing_is_gone() -> None:
    api = Api(a_cluster("get", jobStatusList=[]))
    await look(KubeClient(api), KEY, lambda: NOON)
    paths = [request.path for request in api.asked]
    assert paths.index(f"{JOBFLOWS}/etl") < paths.index(JOBS)


async def test_a_job_that_the_status_tells_of_and_nobody_finds_is_lost() -> None:
    served = a_cluster("get", "clean: get")
    served[f"{JOBFLOWS}/etl"]["status"]["jobStatusList"] = [{"name": "etl-get", "state": "Running"}]
    entries = (await told(served)).entries
    assert (entries["get"].state, entries["get"].says) == ("Lost", "it is gone")


async def test_a_job_of_somebody_else_is_a_stranger() -> None:
    entries = (await told(a_cluster("get", jobs=(a_child("get", "Running", uid="another"),)))).entries
    assert [reason.kind for reason in entries["get"].reasons] == ["JobNameConflict"]
    assert f"{entries['get'].reasons[0].since:%H:%M}" == "11:50"


async def test_a_refusal_is_told_in_the_words_of_the_status() -> None:
    served = a_cluster("get", reason="JobRefused", message="get waits: exceeded quota: gpus")
    assert "exceeded quota: gpus" in (await told(served)).entries["get"].reasons[0].text


async def test_one_that_the_status_has_no_room_for_in_those_of_an_event() -> None:
    served = a_cluster("get", "put", reason="JobRefused", message="put waits: no; and 7 more")
    served[f"{JOBFLOWS}/etl"]["status"]["observedGeneration"] = 1
    served[EVENTS] = [an_event("uid-of-etl", "JobRefused", "get waits: exceeded quota: gpus", at="09:00")]
    (reason,) = (await told(served)).entries["get"].reasons
    assert (reason.kind, "exceeded quota: gpus" in reason.text) == ("JobRefused", True)
    assert f"{reason.since:%H:%M}" == "09:00"


@pytest.mark.parametrize(
    ("generation", "at", "kinds"),
    [
        pytest.param(None, "11:58", ["JobRefused"], id="Volcano's CRD, told of late"),
        pytest.param(None, "11:40", [], id="Volcano's CRD, told long ago"),
        pytest.param(1, "11:58", [], id="our CRD, whose status tells of none any more"),
    ],
)
async def test_without_a_reason_in_the_status_an_event_of_late_stands_for_it(
    generation: int | None, at: str, kinds: list[str]
) -> None:
    served = a_cluster("get")
    served[f"{JOBFLOWS}/etl"]["status"]["observedGeneration"] = generation
    served[EVENTS] = [an_event("uid-of-etl", "JobRefused", "get waits: exceeded quota: gpus", at=at)]
    assert [reason.kind for reason in (await told(served)).entries["get"].reasons] == kinds


async def test_of_a_pending_job_volcanos_scheduler_is_asked() -> None:
    served = a_cluster("get", jobs=(a_child("get", "Pending"),))
    condition = {"type": "Unschedulable", "status": "True", "message": "1/1 tasks in gang unschedulable"}
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ml/podgroups/etl-get-uid-of-get"
    served[path] = {"metadata": {"name": "etl-get-uid-of-get"}, "status": {"conditions": [condition]}}
    assert (await told(served)).entries["get"].says == "1/1 tasks in gang unschedulable"


async def test_of_a_failed_job_its_last_warning_is_told_beside_its_own_words() -> None:
    served = a_cluster("get", jobs=(a_child("get", "Failed", message="too many retries"),))
    served[EVENTS] = [an_event("uid-of-get", "PodGroupPending", "no nodes"), an_event("uid-of-get", "x", "y", "Normal")]
    assert (await told(served)).entries["get"].says == "too many retries: PodGroupPending: no nodes"


async def test_what_a_template_estimates_counts() -> None:
    served = a_cluster("get", jobs=(a_child("get", "Running"),))
    served[TEMPLATES] = [a_jobtemplate_object("get", spec={"runningEstimate": "15m"})]
    assert (await looked(served)).estimates == {"get": 900}


@pytest.mark.parametrize("status", [403, 404, 503])
async def test_what_is_of_use_but_cannot_be_read_is_named_and_done_without(status: int) -> None:
    served = a_cluster("get", jobs=(a_child("get", "Running"),)) | {EVENTS: status, LEASES: status}
    seen = await told(served)
    assert [cause.kind for cause in seen.causes] == ["Running"]
    assert [text.partition(":")[0] for text in seen.unread] == [
        "Events of ml",
        "Leases, which tell whether a controller is alive",
    ]


@pytest.mark.parametrize("path", [f"{JOBFLOWS}/etl", TEMPLATES, JOBS])
async def test_without_what_is_needed_there_is_no_answer(path: str) -> None:
    with pytest.raises(Forbidden):
        await looked(a_cluster("get") | {path: 403})


@pytest.mark.parametrize(
    ("others", "words"),
    [
        pytest.param(["nightly-reports", "web"], "; did you mean nightly-reports?", id="a near miss"),
        pytest.param(["web", "app"], "; there are app, web", id="none that is like it"),
        pytest.param([], ", nor any other", id="an empty namespace"),
        pytest.param(None, "", id="names that may not be listed"),
    ],
)
async def test_of_one_that_is_not_there_it_is_said_which_may_have_been_meant(
    others: list[str] | None, words: str
) -> None:
    there: Any = 403 if others is None else [a_jobflow_object("get", name=name) for name in others]
    with pytest.raises(NoJobFlow) as raised:
        await look(KubeClient(Api({JOBFLOWS: there})), Key("ml", "nightly-report"), lambda: NOON)
    assert str(raised.value) == f'no JobFlow "nightly-report" in namespace ml{words}'
