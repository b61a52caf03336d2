"""Offers what the check makes of texts, and what kubectl does: `judged(...)`, `said(...)`, `KubectlReader`."""

import json
import subprocess
from pathlib import Path
from typing import Any

from webhook.check.documents import decoded, read_documents
from webhook.check.findings import Finding, Report
from webhook.check.judging import check
from webhook.check.manifests import read_all
from webhook.check.report import for_people
from webhook.check.sources import Source
from webhook.check.tree import Builder, UnreadableError

Json = Any


def judged(*texts: str, max_flows: int = 1000, namespace: str = "") -> Report:
    """What is found in files of these texts, called a.yaml, b.yaml and so on."""
    files = (Source(f"{chr(ord('a') + i)}.yaml", text.encode()) for i, text in enumerate(texts))
    return check(read_all(files, namespace or "default"), max_flows=max_flows, namespace=namespace)


def said(*texts: str, **about: Any) -> list[str]:
    """The lines that people read."""
    return list(for_people(judged(*texts, **about)))


def the_finding(*texts: str, **about: Any) -> Finding:
    """The only thing that is found."""
    (finding,) = judged(*texts, **about).findings
    return finding


def values(text: str | bytes) -> list[Json]:
    """The documents in a text as JSON."""
    content = text if isinstance(text, bytes) else text.encode()
    return [each.document.value for each in documents(decoded(content)) if each.document]


def documents(text: str) -> list[Builder]:
    """The documents in a text. Raises UnreadableError where there is one that cannot be read."""
    read = list(read_documents(text))
    for each in read:
        if isinstance(each, UnreadableError):
            raise each
    return [each for each in read if isinstance(each, Builder)]


class KubectlReader:
    """What a real kubectl reads in a file. It needs no server for that."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._program = program
        self._directory = directory

    def read(self, content: bytes) -> list[Json]:
        """Its objects as JSON. Raises ValueError with what kubectl says where it refuses any of it."""
        file = self._directory / "manifest.yaml"
        file.write_bytes(content)
        done = subprocess.run(
            [str(self._program), "annotate", "--local", "-f", str(file), "-o", "json", "read=yes"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            env={"HOME": str(self._directory), "KUBECONFIG": str(self._directory / "none")},
        )
        if done.returncode:
            raise ValueError(done.stderr)
        found = []
        rest = done.stdout.lstrip()
        while rest:
            value, end = json.JSONDecoder().raw_decode(rest)
            found.append(value)
            rest = rest[end:].lstrip()
        return found
