"""The audit log of decisions about rejected rows: how many rows were requested and how many were changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowapp.accounts.models import Workspace
from flowapp.quarantine.models import RowDecision
from flowapp.quarantine.records import BECAME, BROKE_OFF, LEFT
from flowapp.quarantine.run_kinds import DECIDED
from flowapp.runs.models import LOADED

DONE = frozenset({"loaded", "fixed"})
NOT_LOADED = frozenset({"fails", "exists", "older", "read_again", "filtered"})
"""Results of rows that a run processed and did not load. It excluded the rows with all other results."""
OF_ENTRIES = frozenset({"export", "purge"})
OF_NO_ROWS = frozenset({"retention"})


@dataclass(frozen=True, slots=True)
class Line:
    """A decision in the audit log. A number is None if it is unknown or does not apply. `state` is the state of the
    decision's run while that has not loaded. `broke_off` means that an export or purge ended early, `continues` that a
    purge continues."""

    decision: RowDecision
    requested: int | None = None
    done: int | None = None
    not_loaded: int | None = None
    excluded: int | None = None
    of_entries: bool = False
    state: str = ""
    broke_off: bool = False
    continues: bool = False


def list_audit_log(workspace: Workspace, most: int) -> list[Line]:
    """List decisions, newest first."""
    decisions = RowDecision.objects.filter(workspace=workspace).select_related("pipeline", "run")
    return [_line(decision) for decision in decisions.order_by("-at", "id")[:most]]


def _line(decision: RowDecision) -> Line:
    if decision.action in OF_NO_ROWS:
        return Line(decision)
    if decision.action in OF_ENTRIES:
        done = decision.rows if decision.rows >= 0 else None
        broke_off, continues = bool(decision.details.get(BROKE_OFF)), LEFT in decision.details
        return Line(decision, done=done, of_entries=True, broke_off=broke_off, continues=continues)
    if decision.action in DECIDED:
        return _line_of_run(decision)
    requested = decision.rows + decision.excluded
    return Line(decision, requested=requested, done=decision.rows, excluded=decision.excluded)


def _line_of_run(decision: RowDecision) -> Line:
    """Build a line from the numbers in the decision, because a decision may be stored longer than its run."""
    run, counts = decision.run, decision.details.get(BECAME)
    if run is not None and run.state not in LOADED:
        return Line(decision, requested=decision.rows, state=run.state)
    if counts is None:
        counts = run.stored_report.row_results if run is not None else {}
    if not counts:
        return Line(decision, requested=decision.rows)
    done, not_loaded = _sum(counts, DONE), _sum(counts, NOT_LOADED)
    excluded = sum(counts.values()) - done - not_loaded
    return Line(decision, requested=decision.rows, done=done, not_loaded=not_loaded, excluded=excluded)


def _sum(counts: Mapping[str, int], results: frozenset[str]) -> int:
    return sum(rows for result, rows in counts.items() if result in results)
