"""Files are read as kubectl reads them: the same documents, the same values, and refused where kubectl refuses them."""

import time

import pytest
import yaml

from shared.rules.fault import FieldPath
from tests.webhook.check.reading import KubectlReader, documents, values
from webhook.check.documents import HELM_HINT, Lines, decoded
from webhook.check.tree import DEEPEST, MOST_TEXT, MOST_VALUES, Place, UnreadableError
from webhook.check.yaml_text import read_yaml

A = "apiVersion: v1\nkind: X\nmetadata: {name: a}\n"
B = "apiVersion: v1\nkind: X\nmetadata: {name: b}\n"
J = (
    '{"apiVersion": "v1", "kind": "X", "metadata": {"name": "j"}, '
    '"spec": [1.0, 1e2, "\\ud83d\\ude00", "\\/", -0.0, null]}'
)
A_JSON = '{"apiVersion": "v1", "kind": "X", "metadata": {"name": "j"}}'

TAKEN = {
    "two documents": A + "---\n" + B,
    "a comment behind the separator": A + "--- # of another kind\n" + B,
    "a comment right behind the separator": A + "---#x\n" + B,
    "blanks behind the separator": A + "---  \t\n" + B,
    "a separator within a block of text": A + "spec: |\n  a\n---\n" + B,
    "empty documents": "---\n---\n# nothing\n---\n" + A + "---\n",
    "a document of null": "null\n---\n" + A,
    "the end of a document": A + "...\n---\n" + B,
    "a directive after the end of a document": A + "...\n%YAML 1.1\n---\n" + B,
    "windows' ends of lines": (A + "---\n" + B).replace("\n", "\r\n"),
    "old ends of lines": A.replace("\n", "\r"),
    "JSON": J,
    "JSON with tabs": J.replace(", ", ",\n\t"),
    "JSON objects side by side": J + J,
    "JSON objects line by line": J + "\n" + J + "\n",
    "JSON, then YAML": J + "\n---\n" + A,
    "JSON with a comma too much": A_JSON[:-1] + ",}",
    "YAML in braces": "{apiVersion: v1, kind: X, metadata: {name: j}}",
    "braces of YAML after a comment": "# YAML\n{apiVersion: v1, kind: X, metadata: {name: j}}",
    "anchors and aliases": A + "spec: {a: &x [1, 2], b: *x, c: &y z, d: *y, *y : 1}\n",
    "anchors that are used again": A + "spec: [&x 1, *x, &x 2, *x]\n",
    "merge keys": A + "spec:\n  a: &x {p: 1, q: 2}\n  b:\n    <<: *x\n    q: 3\n",
    "a merge key after what it replaces": A + "spec:\n  a: &x {p: 1}\n  b:\n    q: 3\n    p: 0\n    <<: *x\n",
    "a merge key with a list": A + "spec:\n  <<: [{p: 1}, {p: 2, r: 3}]\n",
    "a merge key in quotes": A + 'spec: {"<<": 1}\n',
    "keys that are no texts": A + "spec: {1: a, 1.5: b, yes: c, 0x10: d}\n",
    "tabs between words": A + "spec:\ta\t# b\n",
    "a tab in a block of text": A + "spec: |\n  a\n  \tb\n",
    "texts over several lines": A + "spec: [\"a\n\n  b\", 'c\n  d', e\n  f]\n",
    "blocks of text": A + "spec:\n- |\n  a\n  b\n- >-\n  a\n  b\n- |+\n  a\n\n",
    "a key with a question mark": A + "? spec\n: a\n",
    "empty values": A + "spec: [a: , {b: }, {c}, '', ~]\n",
}

REFUSED = {
    "something behind the separator": A + "--- " + "{kind: X}\n",
    "a longer separator": A + "-----\n" + B,
    "a separator within a text in quotes": A + 'spec: "a\n---\nb"\n',
    "a directive at the beginning": "%YAML 1.1\n---\n" + A,
    "JSON without an end": J[:-1],
    "JSON of two halves": J + "]",
    "tabs as indentation": "apiVersion: v1\nkind: X\nmetadata:\n\tname: a\n",
    "a key that is a list": A + "spec: {[a]: 1}\n",
    "a key that is a map": A + "spec: {{a: b}: 1}\n",
    "a key that is null": A + "spec: {~: 1}\n",
    "a merge key with a number": A + "spec: {<<: 1}\n",
    "an alias without an anchor": A + "spec: *x\n",
    "an alias inside of its anchor": A + "spec: &x [*x]\n",
    "a control character": A + 'spec: "a\x01b"\n',
    "half a surrogate pair": A + 'spec: "\\ud800"\n',
    "infinity": A + "spec: .inf\n",
    "a bracket that is left open": A + "spec: [1, 2\n",
    "a bracket too much": A + "spec: ]\n",
    "bad indentation": A + "spec:\n  a: 1\n b: 2\n",
    "two values in a line": A + "spec: a: b\n",
    "Helm's braces for a value": "apiVersion: v1\nkind: X\nmetadata:\n  name: {{ .Values.name }}\n",
    "Helm's braces at the beginning": "{{- if .Values.on }}\n" + A + "{{- end }}\n",
    "Helm's braces in a line": A + "spec:\n  {{- toYaml .Values.spec | nindent 2 }}\n",
}


def comparable(objects: list[object]) -> list[tuple[object, object, object]]:
    return [(each["kind"], each["metadata"]["name"], each.get("spec")) for each in objects]  # type: ignore[index,attr-defined]


@pytest.mark.real
@pytest.mark.parametrize("name", TAKEN)
def test_what_kubectl_reads_is_read_and_means_the_same(name: str, kubectl: KubectlReader) -> None:
    assert comparable(values(TAKEN[name])) == comparable(kubectl.read(TAKEN[name].encode()))


@pytest.mark.real
@pytest.mark.parametrize("name", REFUSED)
def test_what_kubectl_cannot_read_is_refused(name: str, kubectl: KubectlReader) -> None:
    with pytest.raises(ValueError, match="error"):
        kubectl.read(REFUSED[name].encode())
    with pytest.raises(UnreadableError):
        values(REFUSED[name])


@pytest.mark.real
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_say_the_encoding(encoding: str, kubectl: KubectlReader) -> None:
    mark = "" if encoding in {"utf-8-sig", "utf-16"} else "\ufeff"
    content = (mark + A + "---\n" + B).encode(encoding)
    assert comparable(values(content)) == comparable(kubectl.read(content))


@pytest.mark.real
def test_files_put_together_may_have_marks_in_their_middle(kubectl: KubectlReader) -> None:
    content = (A + "---\n\ufeff" + B).encode()
    assert comparable(values(content)) == comparable(kubectl.read(content))


def test_what_is_no_text_is_refused_where_it_begins() -> None:
    with pytest.raises(UnreadableError) as caught:
        decoded("é: ".encode() + b"\xff")
    assert caught.value.at == len("é: ")


def test_what_kubectl_would_pass_over_after_the_end_of_a_document_is_told() -> None:
    with pytest.raises(UnreadableError) as caught:
        values(A + "...\n" + B)
    assert caught.value.at == len(A + "...\n")


@pytest.mark.parametrize("name", [name for name in REFUSED if name.startswith("Helm")])
def test_a_helm_template_is_told_as_such(name: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        values(REFUSED[name])
    text = REFUSED[name]
    line, _ = Lines(text).of(caught.value.at)
    assert caught.value.message.endswith(HELM_HINT)
    assert "{{" in text.splitlines()[line - 1]


def test_tabs_are_told_as_such() -> None:
    with pytest.raises(UnreadableError, match="a tab must not stand here") as caught:
        values(REFUSED["tabs as indentation"])
    assert REFUSED["tabs as indentation"][caught.value.at] == "\t"


def test_braces_in_a_text_are_nobodys_template() -> None:
    with pytest.raises(UnreadableError) as caught:
        values(A + 'spec: "{{ x }}"\na:\n  b: 1\n  c: 2\n  d: 3\n e: 4\n')
    assert HELM_HINT not in caught.value.message


# Places


def place_of(text: str, *path: str | int) -> tuple[int, int]:
    (read,) = documents(text)
    assert read.document
    found = read.document.get(FieldPath(*path))
    assert found is not None
    return Lines(text).of(found.at)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_field_is_where_its_key_is_and_an_item_where_it_begins(line_end: str) -> None:
    text = line_end.join(["# a", "é:", "  - x: 1", "    u: [p,", "  q]", "  -", "    z: |", "      t"])
    assert place_of(text, "é") == (2, 1)
    assert place_of(text, "é", 0) == (3, 5)
    assert place_of(text, "é", 0, "x") == (3, 5)
    assert place_of(text, "é", 0, "u") == (4, 5)
    assert place_of(text, "é", 0, "u", 1) == (5, 3)
    assert place_of(text, "é", 1) == (7, 5)
    assert place_of(text, "é", 1, "z") == (7, 5)


def test_places_count_from_the_beginning_of_the_file() -> None:
    text = "a: 1\n---\n\n# b\nb: 2\n--- # c\nc:\n- d\n"
    lines = Lines(text)
    found = [read.document for read in documents(text) if read.document]
    assert [lines.of(document.below[key].at) for document, key in zip(found, "abc", strict=True)] == [
        (1, 1),
        (5, 1),
        (7, 1),
    ]


def test_fields_of_json_have_places() -> None:
    text = '{\n\t"a": [1,\n\t {"b": "\\"{"}\n]}\n{"c": 1}'
    first, second = documents(text)
    assert first.document
    assert second.document
    assert Lines(text).of(first.document.nearest(FieldPath("a", 1, "b")).at) == (3, 4)
    assert Lines(text).of(second.document.nearest(FieldPath("c")).at) == (5, 2)


def test_what_an_alias_stands_for_is_where_the_alias_is() -> None:
    assert place_of("a: &x {b: 1}\nc: *x\n", "c") == (2, 1)


def test_separators_of_lines_that_no_editor_knows_count_for_nothing() -> None:
    assert place_of("# \u2028 \x85 \u2029\na: 1\n", "a") == (2, 1)


def test_python_alone_reads_as_the_library_in_c_does_but_for_tabs() -> None:
    for text in TAKEN.values():
        if not text.startswith("{") and "---" not in text and "\t" not in text:
            assert places(read_yaml(text, loader=yaml.SafeLoader).document) == places(read_yaml(text).document)


def places(place: Place | None) -> object:
    return place and (place.at, place.value, [(key, places(each)) for key, each in place.below.items()])


# Bombs

BOMBS = {
    "laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "texts": f"a: &a {'x' * 500_000}\nb: [{','.join(['*a'] * 10_000)}]\n",
    "merges": "a: &a {" + ",".join(f"k{i}: 1" for i in range(1000)) + "}\n" + "b:\n" + "  - <<: *a\n" * 5_000,
    "stairs": "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(DEEPEST)),
    "stairs of maps": "a0: &a0 {x: y}\n" + "".join(f"a{i + 1}: &a{i + 1} {{x: *a{i}}}\n" for i in range(DEEPEST)),
    "lists": "a: " + "[" * 400_000,
    "maps": "a: " + "{a: " * 200_000,
    "items": "- " * 300_000,
    "JSON lists": '{"a": ' + "[" * 900_000,
    "JSON lists that end": '{"a": ' + "[" * 500 + "]" * 500 + "}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_at_once(name: str) -> None:
    assert len(BOMBS[name]) <= 1024 * 1024
    began = time.process_time()
    with pytest.raises(UnreadableError, match=r"must not|nested deeper"):
        values(BOMBS[name])
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!!python/object/new:list", "!own", "!!set"]
)
def test_no_tag_makes_anything(tag: str) -> None:
    (read,) = documents(f"a: {tag} [x]\nb: {tag} x\n")
    assert read.document
    assert read.document.value == {"a": ["x"], "b": "x"}
    assert [(str(fault.field), fault.rule) for fault in read.problems] == [
        ("a", "tags-are-known"),
        ("b", "tags-are-known"),
    ]


def test_aliases_may_be_as_deep_as_what_is_written() -> None:
    stairs = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(DEEPEST - 2))
    assert values(stairs)
    last = DEEPEST - 1
    with pytest.raises(UnreadableError):
        values(f"{stairs}a{last}: [*a{last - 1}]\n")


def test_a_document_may_be_as_deep_as_a_review() -> None:
    assert values("a: " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1))
    with pytest.raises(UnreadableError):
        values("a: " + "[" * DEEPEST + "]" * DEEPEST)


def test_aliases_count_wherever_they_stand() -> None:
    half = "[" + ",".join("1" * (MOST_VALUES // 1024 - 1)) + "]"
    assert values(f"a: &a {half}\nb: [{','.join(['*a'] * 900)}]\n")
    with pytest.raises(UnreadableError):
        values(f"a: &a {half}\nb: [{','.join(['*a'] * 1024)}]\n")


def test_so_do_the_characters_of_texts() -> None:
    text = "x" * (MOST_TEXT // 8)
    assert values(f"a: &a {text}\nb: [{','.join(['*a'] * 6)}]\n")
    with pytest.raises(UnreadableError):
        values(f"a: &a {text}\nb: [{','.join(['*a'] * 8)}]\n")
