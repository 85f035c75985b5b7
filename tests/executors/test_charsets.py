"""Characters that the encoding of a database lacks."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.charsets import UTF8, Charset, unescape

LATIN1 = Charset("LATIN1")


def test_the_first_character_of_each_text_that_has_one_is_found() -> None:
    texts = pa.array(["plain", "é", None, "a€Ж", "Ж"])
    assert LATIN1.lacking(texts) == {3: "€", 4: "Ж"}
    assert LATIN1.lacking(texts.slice(3)) == {0: "€", 1: "Ж"}
    assert Charset("LATIN9").lacking(texts) == {3: "Ж", 4: "Ж"}
    assert Charset("EUC_JP").lacking(pa.array(["漢字", "€"])) == {1: "€"}


@pytest.mark.parametrize("charset", [UTF8, Charset("SQL_ASCII")])
def test_some_encodings_hold_everything(charset: Charset) -> None:
    assert charset.lacking(pa.array(["€Ж🙂"])) == {}


def test_a_character_is_reported_by_its_number_and_name() -> None:
    assert LATIN1.describe("€") == "holds U+20AC (EURO SIGN), not in the database's encoding LATIN1"


def test_json_stays_json() -> None:
    text = LATIN1.dump_json({"a": ["é", "€\\"]})
    assert (text, json.loads(text)) == ('{"a": ["é", "\\\\u{20AC}\\\\"]}', {"a": ["é", "\\u{20AC}\\"]})


@given(st.text("\0\\0u{}ACé€Ж🙂", max_size=12))
def test_an_escaped_text_can_be_kept_and_is_read_back_as_it_was(text: str) -> None:
    escaped = LATIN1.escape(text)
    assert (LATIN1.lacks(escaped), "\0" in escaped) == (None, False)
    assert (unescape(escaped) if LATIN1.must_escape(text) else escaped) == text
