"""The file names that a pattern matches."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.connectors.files import Pattern
from ir.patterns import compile_pattern, expand, expand_tokens, glob_matcher, literal_glob
from ir.pointers import ROOT
from tests.properties import examples

NOW = datetime(2025, 3, 4, 23, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("glob", "name"),
    [
        ("*.csv", "a.csv"),
        ("*.csv", ".csv"[1:] + ".csv"),
        ("*", "anything at all"),
        ("_h.csv", "_h.csv"),
        ("*.csv", "_h.csv"),
        ("a[1].csv", "a1.csv"),
        ("a[1].csv", "a[1].csv"),
        ("a[[]1].csv", "a[1].csv"),
        ("a[0-9][!a].csv", "a5b.csv"),
        ("?.csv", "ü.csv"),
        ("?.csv", "😀.csv"),
        ("a.csv", "a.csv"),
        ("a(1)+{x}.csv", "a(1)+{x}.csv"),
        (".hidden*", ".hidden.csv"),
        ("[]]", "]"),
        ("[a^]", "^"),
        ("[a-]", "-"),
        ("a*b", "a\nb"),
        ("*.csv", "caf\udce9.csv"),
    ],
)
def test_a_glob_matches(glob, name):
    assert glob_matcher(glob)(name)


@pytest.mark.parametrize(
    ("glob", "name"),
    [
        ("*.csv", "a.CSV"),
        ("*.csv", "a.csv.gz"),
        ("*.csv", "a.csv\n"),
        ("a.csv", "abcsv"),
        ("a?.csv", "a.csv"),
        ("a[[]1].csv", "a1.csv"),
        ("[!a].csv", "a.csv"),
        ("*", ".hidden"),
        ("*.csv", ".~lock.a.csv"),
        ("?hidden", ".hidden"),
        ("[a-c].csv", "d.csv"),
        ("*.csv", "folder/a.csv.bak"),
    ],
)
def test_a_glob_does_not_match(glob, name):
    assert not glob_matcher(glob)(name)


@given(st.text("ab*?[]-!^.é\\", min_size=1, max_size=8), st.text("ab*?[]-!^.é\\", max_size=8))
@settings(max_examples=examples(500), deadline=None)
def test_any_glob_is_read_or_refused_and_matches_its_own_text(glob, name):
    try:
        matches = glob_matcher(glob)
    except ValueError:
        return
    assert matches(name) in (True, False)
    assert matches(glob)


@given(st.text("abc.", min_size=1, max_size=8))
@settings(deadline=None)
def test_a_glob_without_signs_matches_itself_alone(name):
    assert glob_matcher(name)(name)
    assert not glob_matcher(name)(name + "x")


@pytest.mark.parametrize("glob", ["[a", "a[]", "a[", "[z-a]", "**/x", "a/b", "**"])
def test_a_glob_that_cannot_be_read_is_refused(glob):
    with pytest.raises(ValueError, match=r"bracket|range|\*\*|names"):
        glob_matcher(glob)


def test_a_regex_matches_the_whole_name():
    matches = compile_pattern(Pattern(type="regex", value=r"part-\d+\.csv"), NOW)
    assert matches("part-12.csv")
    assert not matches("xpart-12.csv")
    assert not matches("part-12.csv.gz")


def test_no_regex_can_hang_the_listing():
    matches = compile_pattern(Pattern(type="regex", value="^(a|a)*$"), NOW)
    assert not matches("a" * 50_000 + "b")


def test_date_tokens_are_those_of_the_patterns_own_zone():
    pattern = Pattern(
        type="date_template", value="{YYYY}{MM}{DD}_{HH}{mm}{ss}_{YYYY-MM-DD}_{YYYYMMDD}*", timezone="Europe/Berlin"
    )
    assert expand(pattern, NOW) == "20250305_000506_2025-03-05_20250305*"
    assert compile_pattern(pattern, NOW)("20250305_000506_2025-03-05_20250305.csv")


def test_tokens_are_not_expanded_in_other_patterns():
    assert expand(Pattern(type="glob", value="{YYYY}.csv"), NOW) == "{YYYY}.csv"


def test_percent_signs_in_a_folder_stay():
    assert expand_tokens("100%Y/{YYYY}", NOW) == "100%Y/2025"


def test_a_quantifier_in_a_regex_is_no_token():
    assert list(Pattern(type="regex", value="a{2,3}").check(ROOT)) == []


@pytest.mark.parametrize("name", ["a[1].csv", "a[.csv", "a*.csv", "a?.csv", "[!a].csv", "a]b.csv"])
def test_a_literal_glob_matches_its_name_alone(name):
    matches = glob_matcher(literal_glob(name))
    assert [other for other in (name, "a1.csv", "ab.csv", "b.csv", "abcb.csv") if matches(other)] == [name]
