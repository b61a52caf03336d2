"""Build the Job of an entry: the template's spec under the child's name, marked as this JobFlow's own."""

from controller.workloads import volcano_job
from shared.api.jobflow import Flow, JobFlow
from shared.api.jobtemplate import JobTemplate
from shared.api.names import CREATED_BY_JOBFLOW, CREATED_BY_JOBTEMPLATE, FLOW_API_VERSION, JOBFLOW
from shared.flow.names import child_name, label_value


def build_job(jobflow: JobFlow, flow: Flow, template: JobTemplate) -> bytes:
    """The Job as JSON, ready to be created.

    The spec is the template's, to the letter. Labels, annotations and owner are those that Volcano's controller gives;
    a label value over 63 characters is cut, and its annotation has the whole.
    """
    marks = {
        CREATED_BY_JOBTEMPLATE: f"{jobflow.namespace}.{flow.name}",
        CREATED_BY_JOBFLOW: f"{jobflow.namespace}.{jobflow.name}",
    }
    return volcano_job.manifest(
        metadata={
            "name": child_name(jobflow.name, flow.name),
            "namespace": jobflow.namespace,
            "labels": {key: label_value(value) for key, value in marks.items()},
            "annotations": marks,
            "ownerReferences": [_owner(jobflow)],
        },
        spec=template.spec,
    )


def _owner(jobflow: JobFlow) -> dict[str, object]:
    return {
        "apiVersion": FLOW_API_VERSION,
        "kind": JOBFLOW,
        "name": jobflow.name,
        "uid": jobflow.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
