"""Whatever is in a file, there is a report, and each of its lines is a line."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webhook.check.test_findings import GET, jobflow
from tests.webhook.check.test_same_verdict import spoilt_objects
from webhook.check.findings import Report
from webhook.check.judging import check
from webhook.check.manifests import read_all
from webhook.check.report import for_people, for_programs
from webhook.check.sarif import sarif
from webhook.check.sources import Source

PIECES = st.sampled_from(
    [
        *"{}[]:,-?|>&*!%@`#'\"\\\n\t \r~<=y1.\0\ufeff\x85é",
        "---\n",
        "...\n",
        "<<: ",
        "*a",
        "&a ",
        "!!str ",
        "{{ ",
        "\n  - ",
        "\\u",
    ]
)
ANY_TEXT = st.text(max_size=100) | st.sampled_from(["\ud800", "a\udfff", "\ud83d\ude00"])
"""With halves of surrogate pairs, which JSON can write."""

TEXTS = st.sampled_from([jobflow() + "---\n" + GET, jobflow("\n  - &a {name: get}\n  - <<: *a\n    name: put\n")])


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    text = draw(TEXTS)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 12)) :]
    return text


def reported(content: bytes) -> Report:
    report = check(read_all(iter([Source("a", content)]), "default"), max_flows=1000)
    lines = content.count(b"\n") + content.count(b"\r") + 1
    for finding in report.findings:
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
    for line in for_people(report):
        assert line.isprintable()
    assert for_programs(report, strict=False).isascii()
    assert sarif(report, strict=True).isascii()
    return report


@settings(max_examples=120)
@given(text=mutated_texts())
def test_a_manifest_with_anything_in_it(text: str) -> None:
    reported(text.encode())


@settings(max_examples=100)
@given(content=st.binary(max_size=60) | st.lists(PIECES, max_size=30).map(lambda pieces: "".join(pieces).encode()))
def test_anything_at_all(content: bytes) -> None:
    reported(content)


@settings(max_examples=50)
@given(obj=spoilt_objects(), key=ANY_TEXT, value=ANY_TEXT)
def test_an_object_with_any_keys_and_texts(obj: dict[str, object], key: str, value: str) -> None:
    spoilt = {**obj, key: value, "metadata": {"name": value, "labels": {key: None}, key: value}}
    reported(json.dumps(spoilt).encode())
