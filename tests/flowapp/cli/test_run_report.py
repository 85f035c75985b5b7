"""The counts of a run in command output."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from flowapp.runs.cli.run_report import STATUS_BY_STATE, show_run
from flowapp.runs.models import ENDED
from flowapp.runs.row_balance import row_balance_of

DOCUMENT = {
    "run": "r1",
    "pipeline": "nyc-flights",
    "version": 3,
    "attempt": 1,
    "state": "succeeded_with_warnings",
    "startedAt": "2026-01-01T00:00:00Z",
    "endedAt": "2026-01-01T00:00:05Z",
    "nodes": [
        {
            "id": "load",
            "kind": "target",
            "rowsRead": 336776,
            "rowsFiltered": 0,
            "rowsRejected": 2512,
            "rowsLoaded": 334264,
            "rowsInserted": 334264,
            "rowsUpdated": 0,
            "rowsUnchanged": 0,
            "durationMs": 5,
        }
    ],
    "rules": [
        {
            "node": "check",
            "rule": "r",
            "type": "notNull",
            "field": "tailnum",
            "onFail": "skip",
            "violations": 2512,
            "evaluated": 336776,
        }
    ],
    "checks": [{"node": "check", "check": "rowCount", "ok": True, "message": None, "observed": 334264}],
    "quarantine": {"rows": 2512, "entries": 2512, "tables": ["dlq.flights"]},
    "warnings": [{"code": "rows.rejected", "node": "check", "message": "2,512 rows were rejected."}],
    "hooks": [
        {
            "id": "load.postHook.0",
            "node": "load",
            "kind": "sql",
            "stage": "postHook",
            "state": "failed",
            "statement": "ANALYZE flights",
            "message": "The table does not exist.",
            "durationMs": 12,
        }
    ],
    "error": None,
}


def shown(document: dict) -> str:
    text = io.StringIO()
    show_run(Console(file=text, width=200), document, "nyc-flights/7")
    return text.getvalue()


def test_the_rows_read_are_accounted_for_in_words():
    assert "load: read 336,776 = loaded 334,264 + rejected 2,512 + filtered 0" in shown(DOCUMENT)


def test_numbers_that_do_not_agree_are_not_called_equal():
    assert str(row_balance_of({"rowsRead": 10, "rowsLoaded": 7, "rowsRejected": 1})).startswith("read 10 ≠ ")


def test_other_terms_are_shown_when_they_are_not_zero():
    assert str(row_balance_of({"rowsRead": 10, "rowsLoaded": 7, "rowsReplaced": 3})) == (
        "read 10 = loaded 7 + rejected 0 + filtered 0 + replaced 3"
    )


def test_rows_that_were_made_of_records_stand_beside_those_that_were_read():
    counts = {"rowsRead": 3, "rowsExploded": 4, "rowsLoaded": 6, "rowsRejected": 1}
    assert str(row_balance_of(counts)) == "read 3 + exploded 4 = loaded 6 + rejected 1 + filtered 0"
    assert str(row_balance_of({**counts, "rowsExploded": 5})).startswith("read 3 + exploded 5 ≠ ")


def test_rules_checks_quarantine_and_warnings_are_shown():
    text = shown(DOCUMENT)

    assert all(
        part in text for part in ("notNull", "rowCount", "dlq.flights", "2,512 rows were rejected.", "ANALYZE flights")
    )
    assert re.search(r"2,?512 +336,?776", text)


def test_rows_stored_by_a_run_that_loaded_nothing_are_not_called_loaded():
    quarantined = {"rows": 1, "entries": 1, "tables": ["dlq.flights"]}
    text = shown({**DOCUMENT, "state": "failed", "nodes": [], "quarantine": quarantined})

    assert "1 row in dlq.flights" in text
    assert "loaded with a warning" not in text


def test_an_error_is_shown_with_its_hint():
    error = {"code": "target.unreachable", "node": "load", "message": "No answer.", "hint": "Start it."}
    text = shown({**DOCUMENT, "state": "failed", "error": error})

    assert all(part in text for part in ("target.unreachable", "in node load", "No answer.", "Start it."))


def test_a_terminal_obeys_no_name_of_a_file():
    hostile = "a\x1b]52;c;cm0gLXJm\x07.csv"
    warning = {"code": "file.late", "node": hostile, "message": hostile}
    error = {"code": "source.failed", "node": "in", "message": hostile, "hint": hostile}
    text = shown({**DOCUMENT, "state": "failed", "warnings": [warning], "error": error})

    assert text.count(r"a\x1b]52;c;cm0gLXJm\x07.csv") == 4
    assert not set(text) & set("\x1b\x07")


@pytest.mark.parametrize("state", ENDED)
def test_every_state_in_which_a_run_ends_has_an_exit_status(state):
    assert state in STATUS_BY_STATE
