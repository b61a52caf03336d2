"""Scalars mean what they mean to kubectl, which is held to by asking a real one."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webhook.check.reading import KubectlReader, documents, values
from webhook.check.scalars import NoJsonError, plain
from webhook.check.tree import UnreadableError


@pytest.mark.parametrize("word", ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"])
def test_words_of_consent_are_true(word: str) -> None:
    assert plain(word) is True


@pytest.mark.parametrize("word", ["n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"])
def test_words_of_refusal_are_false(word: str) -> None:
    assert plain(word) is False


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "NULL"])
def test_words_for_nothing_are_null(word: str) -> None:
    assert plain(word) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.10", 1.1),
        ("010", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1e3", 1000),
        ("089", 89),
        (".6_5", 0.65),
    ],
)
def test_what_looks_like_a_number_is_one(text: str, number: float) -> None:
    assert plain(text) == number


@pytest.mark.parametrize(
    "text", ["1:30", "2020-01-01", "2001-12-14t21:59:43.10-05:00", "1.2.3", "0x", "1e400", "tRUE", "._5"]
)
def test_times_dates_and_versions_are_texts(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize("text", [".inf", "-.Inf", "+.INF", ".nan", ".NaN"])
def test_what_json_has_not_is_refused_where_it_stands(text: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        documents(f"a: 1\nb: {text}\n")
    assert caught.value.at == len("a: 1\nb: ")


def test_a_number_of_a_million_digits_is_a_text_and_takes_no_time() -> None:
    assert isinstance(plain("9" * 1_000_000), str)


@pytest.mark.parametrize(
    ("text", "value"),
    [("!!str 1", "1"), ('!!int "1"', 1), ("!!float 1", 1), ("! 1", "1"), ("!!bool y", True), ("!!null ~", None)],
)
def test_the_tags_of_plain_yaml_say_what_a_value_is(text: str, value: Any) -> None:
    assert values(f"a: {text}") == [{"a": value}]


@pytest.mark.parametrize("text", ["!!int x", "!!bool 1", "!!null 0", "!!float x"])
def test_a_value_that_is_not_what_its_tag_says_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        values(f"a: {text}")


LIKELY = st.text("0123456789+-._eExXoObB", min_size=1, max_size=8)
WORDS = st.text("yYnNesoOfFtTruRUElLaASN~", min_size=1, max_size=5)
DATES = st.from_regex(r"\A[0-9]{1,4}[-:][0-9]{1,2}([-:][0-9]{1,2})?\Z")


def is_a_plain_scalar_in_json(text: str) -> bool:
    try:
        plain(text)
    except NoJsonError:
        return False
    return text.strip("-.~") != "" and text != "~"


@pytest.mark.real
@settings(max_examples=12)
@given(texts=st.lists((LIKELY | WORDS | DATES).filter(is_a_plain_scalar_in_json), min_size=100, max_size=200))
def test_plain_scalars_mean_what_kubectl_makes_of_them(texts: list[str], kubectl: KubectlReader) -> None:
    manifest = "apiVersion: v1\nkind: X\nmetadata: {name: x}\nspec:\n" + "".join(f"- {text}\n" for text in texts)
    (read,) = kubectl.read(manifest.encode())
    for text, theirs, ours in zip(texts, read["spec"], values(manifest)[0]["spec"], strict=True):
        assert type(theirs) is type(ours), text
        # kubectl holds what is beyond 64 bits as a float; no field of ours takes such a number.
        assert float(theirs) == float(ours) if abs_is_large(ours) else theirs == ours, text


def abs_is_large(value: Any) -> bool:
    return type(value) in {int, float} and abs(value) >= 2**53
