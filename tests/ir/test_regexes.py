"""The check of patterns agrees with RE2."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.pointers import ROOT
from ir.regexes import check_regex, compile_regex
from tests.properties import examples

CORPUS = [
    "",
    "a",
    "^a$",
    "(a|b)*$",
    r"\d+",
    r"\p{L}+",
    r"\pN",
    "[[:alpha:]]",
    "(?i)É",
    "(?P<n>a)",
    "(?<n>a)",
    r"\Qa.b\E",
    "(?s).",
    "x{1000}",
    "x{1001}",
    "((a{100}){100}){100}",
    "a**",
    "(a",
    "a)",
    "[a",
    r"\1",
    r"\k<n>",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(?>a)",
    "a++",
    r"\C",
    r"\Z",
    r"\z",
    r"\A",
    r"\R",
    r"\h",
    r"\u00e9",
    r"\x{e9}",
    r"\x{110000}",
    "(?x)a b",
    "(?#c)",
    "a{2,1}",
    "a{,2}",
    "é",
    "😀",
    "[é-ü]",
    "[z-a]",
    r"\p{Greek}",
    r"\p{Nope}",
    "(?P=n)",
    "\\",
    "|",
    "()",
    "(?:)",
    "^*",
    "$^",
    "a{99999999999}",
    "(" * 1_000 + ")" * 1_000,
    "(" * 1_001,
    "[" + "a" * 5_000 + "]",
]


def arrow_takes(pattern: str) -> bool:
    try:
        pc.match_substring_regex(pa.array(["x"]), pattern)
    except pa.ArrowInvalid:
        return False
    return True


def check_takes(pattern: str) -> bool:
    return not list(check_regex(pattern, ROOT))


@pytest.mark.parametrize("pattern", CORPUS, ids=lambda pattern: pattern[:20])
def test_it_takes_what_the_engine_takes(pattern):
    assert check_takes(pattern) == arrow_takes(pattern)


@given(st.text(r"ab(|)*+?{}[]^$.\dpLz1,:=!<>-é", max_size=12))
@settings(max_examples=examples(500), deadline=None)
def test_it_takes_what_the_engine_takes_whatever_is_typed(pattern):
    assert check_takes(pattern) == arrow_takes(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)", r"(a)\1"])
def test_what_re2_lacks_is_reported(pattern):
    (diagnostic,) = check_regex(pattern, ROOT)
    assert diagnostic.code == "regex.not_re2"
    assert "look-around" in diagnostic.hint


def test_a_refused_pattern_prints_nothing(capfd):
    with pytest.raises(ValueError, match="perl operator"):
        compile_regex("(?=a)")
    assert capfd.readouterr() == ("", "")
