"""Icons, numbers, times and states as pages show them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from django.conf import settings
from django.template import TemplateSyntaxError

from flowapp.runs.models import State
from flowapp.web.docs import link_docs
from flowapp.web.static_files import fingerprint
from flowapp.web.templatetags.flow import (
    STATES,
    ago,
    counted,
    duration,
    duration_of_ms,
    icon,
    known,
    known_icons,
    observed,
    on_fail,
    relative,
    share,
    state_badge,
    thousands,
    unbroken,
)
from ir.rules import RowOnFail
from ir.words import date_pattern

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TEMPLATES = settings.BASE_DIR / "templates"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s ago"),
        (59, "59 s ago"),
        (59.6, "1 min ago"),
        (60, "1 min ago"),
        (3569, "59 min ago"),
        (3599, "1 h ago"),
        (3600, "1 h ago"),
        (-90, "in 2 min"),
        (-89, "in 1 min"),
        (86400, "24 h ago"),
        (86400 * 2 - 1801, "47 h ago"),
        (86400 * 2, "2 d ago"),
        (-86400 * 3 + 2, "in 3 d"),
        (86400 * 29.4, "29 d ago"),
        (86400 * 29.6, "2025-12-02"),
        (86400 * 40, "2025-11-22"),
    ],
)
def test_a_relative_time_is_rounded_to_the_nearest_unit(seconds, words):
    assert relative(NOW - timedelta(seconds=seconds), NOW) == words


def test_the_exact_time_is_on_hover():
    assert 'title="2026-01-01 12:00:00 UTC"' in ago(NOW)


@pytest.mark.parametrize("show", [ago, thousands, duration])
def test_an_unknown_number_is_not_shown_as_zero(show):
    assert show(None) == "–"


@pytest.mark.parametrize(("number", "words"), [(0, "0"), (1234567, "1,234,567"), (-1000, "-1,000")])
def test_numbers_have_separators(number, words):
    assert thousands(number) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.42, "0.4 s"),
        (59.9, "59.9 s"),
        (59.96, "1 min 0 s"),
        (75, "1 min 15 s"),
        (3599.6, "1 h 0 min"),
        (3660, "1 h 1 min"),
        (7199, "2 h 0 min"),
        (0, "0.0 s"),
        (0.012, "< 0.1 s"),
    ],
)
def test_durations_are_reported_in_two_units_at_most(seconds, words):
    assert duration(seconds) == words


def test_milliseconds_are_reported_like_seconds():
    assert [duration_of_ms(ms) for ms in (None, 12, 420, 75000)] == ["–", "< 0.1 s", "0.4 s", "1 min 15 s"]


def test_every_effect_of_a_rule_has_words():
    assert [on_fail(value) for value in get_args(RowOnFail)] == ["fail the run", "load and warn", "reject row"]


@pytest.mark.parametrize("state", State.values)
def test_every_state_of_a_run_has_words_and_an_icon(state):
    assert state in STATES
    assert "<svg" in state_badge(state)
    assert STATES[state][2] in state_badge(state)


def test_a_state_is_shown_as_text():
    assert "<b>" not in state_badge("<b>")


def test_a_named_page_of_the_documentation_is_a_link_and_all_else_is_text():
    shown = link_docs("<b> see docs/reference/cdc-mirror.md, not docs/no-such.md.")
    assert shown == '&lt;b&gt; see <a href="/docs/cdc-mirror/">docs/reference/cdc-mirror.md</a>, not docs/no-such.md.'


def test_an_unknown_icon_says_where_to_add_it():
    with pytest.raises(TemplateSyntaxError, match=r"icons\.json"):
        icon("no-such-icon")


def test_the_sprite_holds_exactly_what_the_list_asks_for():
    assert known_icons() == set(json.loads((settings.BASE_DIR / "static/src/icons.json").read_text()))


@pytest.mark.parametrize(
    "template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: str(path.relative_to(TEMPLATES))
)
def test_every_icon_of_a_template_is_in_the_sprite(template: Path):
    assert set(re.findall(r'{% icon "([^"]+)"', template.read_text())) <= known_icons()


def test_a_misspelt_static_file_is_an_error_and_no_broken_link():
    with pytest.raises(FileNotFoundError, match="npm run build"):
        fingerprint("no-such-file.css")


@pytest.mark.parametrize(("number", "words"), [(1, "1 row"), (0, "0 rows"), (2000, "2,000 rows"), (None, "– rows")])
def test_one_row_is_not_called_rows(number, words):
    assert counted(number, "row") == words


@pytest.mark.parametrize(("value", "words"), [(1234, "1,234"), (1.5, "1.5"), (True, "True"), (None, "–"), ("x", "x")])
def test_the_result_of_a_check_is_shown_whatever_its_type(value, words):
    assert observed(value) == words


def test_no_number_is_distinguished_from_none_of_something():
    assert (known(0), known(1234)) == ("0", "1,234")
    assert 'aria-label="no number"' in known(None)
    assert ">–<" in known(None)


@pytest.mark.parametrize(("rate", "text"), [(0, "0 %"), (0.002, "<1 %"), (0.5, "50 %"), (0.998, ">99 %"), (1, "100 %")])
def test_only_an_exact_share_is_none_or_all(rate, text):
    assert share(rate) == text


def test_a_date_breaks_at_its_spaces_only() -> None:
    assert (
        unbroken("Mon 2025-06-02") == '<span class="text-nowrap">Mon</span> <span class="text-nowrap">2025-06-02</span>'
    )


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("%d/%m/%y", "DD/MM/YY"),
        ("%m/%d/%Y %I:%M %p", "MM/DD/YYYY hh:mm AM/PM"),
        ("%Y-%m-%dT%H:%M:%S%z", "YYYY-MM-DDThh:mm:ss+hhmm"),
        ("%d %b %Y", "DD Mon YYYY"),
        ("%j of %Y, 100%", "%j of YYYY, 100%"),
    ],
)
def test_date_formats_are_shown_as_people_write_them(template: str, shown: str) -> None:
    assert date_pattern(template) == shown
