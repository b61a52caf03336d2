"""Offers AdmissionReviews as the API server sends them: `a_review(...)` is one as JSON, `sent(...)` its bytes."""

import json
from typing import Any

from tests.support.builders import a_jobflow_object, a_jobtemplate_object

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"

KINDS = {"jobflows": "JobFlow", "jobtemplates": "JobTemplate"}


def a_review(
    operation: str = "CREATE",
    *,
    new: dict[str, Any] | None = None,
    old: dict[str, Any] | None = None,
    resource: str = "jobflows",
    user: str = "alice",
    uid: str = UID,
    **fields: Any,
) -> dict[str, Any]:
    """A review; the object's name and namespace become the request's, `fields` replace what the request has."""
    obj = new or old or {}
    metadata = obj.get("metadata", {})
    kind = {"group": "flow.volcano.sh", "version": "v1alpha1", "kind": KINDS[resource]}
    place = {"group": "flow.volcano.sh", "version": "v1alpha1", "resource": resource}
    request = {
        "uid": uid,
        "kind": kind,
        "resource": place,
        "requestKind": kind,
        "requestResource": place,
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": operation,
        "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **fields,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def creation(*flows: str, **about: Any) -> dict[str, Any]:
    """The review of a JobFlow's creation: `creation("get", "train: get")`."""
    return a_review("CREATE", new=a_jobflow_object(*flows, **about))


def deletion(jobflow: dict[str, Any], **about: Any) -> dict[str, Any]:
    """The review of a JobFlow's deletion."""
    return a_review("DELETE", old=jobflow, **about)


def template_deletion(name: str = "get", metadata: dict[str, Any] | None = None, **about: Any) -> dict[str, Any]:
    """The review of a JobTemplate's deletion; `metadata` adds to what the JobTemplate has."""
    template = a_jobtemplate_object(name)
    template["metadata"] |= metadata or {}
    return a_review("DELETE", old=template, resource="jobtemplates", **about)


def sent(review: object) -> bytes:
    """As it travels."""
    return json.dumps(review, separators=(",", ":")).encode()
