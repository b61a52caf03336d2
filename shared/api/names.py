"""Names that are facts: API groups, kinds, labels and annotations, as Volcano and Kubernetes spell them."""

from typing import Final

FLOW_GROUP: Final = "flow.volcano.sh"
FLOW_API_VERSION: Final = "flow.volcano.sh/v1alpha1"
BATCH_GROUP: Final = "batch.volcano.sh"
BATCH_API_VERSION: Final = "batch.volcano.sh/v1alpha1"

JOBFLOW: Final = "JobFlow"
JOBTEMPLATE: Final = "JobTemplate"
JOB: Final = "Job"

CREATED_BY_JOBFLOW: Final = "volcano.sh/createdByJobFlow"
"""Label and annotation of a child Job: `<namespace>.<jobflow>` (Volcano's key and format)."""

CREATED_BY_JOBTEMPLATE: Final = "volcano.sh/createdByJobTemplate"
"""Label and annotation of a child Job: `<namespace>.<template>` (Volcano's key and format)."""

ALLOW_DELETE: Final = "flow.volcano.sh/allow-delete"
"""Annotation with which a user says that an unfinished JobFlow, or a JobTemplate in use, may be deleted: `"true"`."""

DEFAULT_MAX_FLOWS: Final = 1000
"""Entries that one JobFlow may have unless `--max-flows` says otherwise."""
