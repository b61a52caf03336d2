"""Offers Volcano's real CRDs, generated from the API types that Volcano publishes as a Go module.

The Job CRD is what every test on a real API server uses; Volcano's JobFlow and JobTemplate are for clusters where
Volcano's chart came first. They are made once for each version, into the cache beside the programs (`binaries.py`),
and equal what Volcano's own chart installs but for an annotation.
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.binaries import (
    MODULE,
    NotAvailableError,
    Report,
    cache_root,
    find_go,
    only_one,
    required_version,
    run_go,
    skip_or_fail,
)

GENERATOR = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.0"
TYPES = MODULE / "volcano"
"""The Go module whose go.mod pins the version of Volcano's API types."""


@dataclass(frozen=True, slots=True)
class VolcanoCRDs:
    """YAML files, one CustomResourceDefinition each."""

    job: Path
    jobflow: Path
    jobtemplate: Path


def volcano_crds() -> VolcanoCRDs:
    """Return the CRDs, for a fixture: generated on first use; skips the test, or in CI fails it, where that fails."""
    try:
        return ensure_volcano_crds()
    except NotAvailableError as missing:
        skip_or_fail(missing)


def ensure_volcano_crds(report: Report = lambda line: None) -> VolcanoCRDs:
    """Return the CRDs, generating them when the cache has none; may be called by many processes at once."""
    directory = crds_directory()
    crds = VolcanoCRDs(
        job=directory / "batch.volcano.sh_jobs.yaml",
        jobflow=directory / "flow.volcano.sh_jobflows.yaml",
        jobtemplate=directory / "flow.volcano.sh_jobtemplates.yaml",
    )
    with only_one(directory.with_name(f"{directory.name}.lock"), report):
        if not directory.is_dir():
            report(f"generating {directory.name}")
            generate(directory)
    return crds


def crds_directory() -> Path:
    """Return the directory of exactly these versions of types and generator."""
    generator = re.sub(r".*/(.*)@v(.*)", r"\1-\2", GENERATOR)
    return cache_root() / f"volcano-{required_version('volcano.sh/apis', TYPES)}-{generator}"


def generate(directory: Path) -> None:
    """Make the directory, complete or not at all. The options are those with which Volcano makes its chart's CRDs."""
    go, environ = find_go()
    with tempfile.TemporaryDirectory(dir=directory.parent) as unfinished:
        made = Path(unfinished, "crds")
        options = "crd:crdVersions=v1,maxDescLen=0,generateEmbeddedObjectMeta=true"
        packages = [f"paths=volcano.sh/apis/pkg/apis/{group}/v1alpha1" for group in ("batch", "flow")]
        run_go([go, "run", GENERATOR, options, *packages, f"output:crd:dir={made}"], environ, cwd=TYPES)
        made.rename(directory)
