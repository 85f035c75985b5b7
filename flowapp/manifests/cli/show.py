"""Print plans and results of `flow apply`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console

from flowapp.cli.outcome import Outcome, printable, show_lines
from ir.manifests.diagnostics import InvalidProject
from ir.words import counted

if TYPE_CHECKING:
    from flowapp.manifests.applying import Applied
    from ir.manifests.plan import ConnectionChange, PipelineChange, Plan

_SIGNS = {"new": "+", "restored": "+", "changed": "~", "drifted": "!", "removed": "-", "adopted": "="}
_STYLES = {"+": "green", "-": "red", "~": "yellow", "!": "yellow", "=": "default"}
_COLOURS = {"error": "red", "warning": "yellow"}


def show_plan(console: Console, plan: Plan) -> None:
    for connection in plan.connections:
        _show_change(console, connection, f"connection {connection.name}")
    for pipeline in plan.pipelines:
        _show_change(console, pipeline, f"pipeline {pipeline.id}")
    for warning in plan.warnings:
        place = f"{warning['file']}:{warning['line']}:{warning['column']}"
        console.print(printable(f"{place}: warning: {warning['message']}"), style="yellow", markup=False)
    counts = ", ".join(f"{count} {name}" for name, count in plan.summary.items() if count and name != "connections")
    show_lines(console, [f"Project {plan.project}, workspace {plan.workspace}: {counts or 'no pipelines'}."])
    if plan.paused:
        show_lines(console, [f"Paused or disabled in the browser, and not changed: {', '.join(plan.paused)}."])
    if plan.unmanaged:
        show_lines(console, [f"Not in the project: {', '.join(plan.unmanaged)}. To write them into it: flow export"])
    if plan.others:
        show_lines(console, [f"Of other projects, and not changed: {', '.join(plan.others)}."])
    consents = "".join(f" --{need}" for need in ("force", "yes") if need in plan.needs)
    show_lines(console, ["No changes." if plan.is_empty else f"To make these changes: flow apply{consents}"])


def _show_change(console: Console, change: ConnectionChange | PipelineChange, name: str) -> None:
    sign = _SIGNS[change.action]
    console.print(printable(f"{sign} {name} ({change.action})"), style=_STYLES[sign], markup=False)
    show_lines(console, [f"    {line}" for line in _lines(change)])


def _lines(change: ConnectionChange | PipelineChange) -> Iterator[str]:
    from ir.manifests.plan import PipelineChange

    yield from change.words
    if change.drift is not None:
        yield f"{change.drift.heading}; --force overwrites it:"
        yield from (f"  {word}" for word in change.drift.words)
    if isinstance(change, PipelineChange):
        yield from _table_lines(change)
    for problem in change.problems:
        yield f"{problem.severity}: {problem.message} {problem.hint} [{problem.code}]"
    for loss in change.destructive:
        yield f"DESTRUCTIVE: {loss}"
    for need in change.needs:
        yield {"force": "Needs --force.", "yes": "Needs --yes.", "admin": "Needs an admin."}[need]


def _table_lines(change: PipelineChange) -> Iterator[str]:
    for table in change.tables:
        if table.rows == "rejected":
            count = counted(len(table.statements), "statement")
            yield f"{table.table}: the first load that rejects rows creates this table for them ({count}; see --json)."
            continue
        for statement in table.statements:
            who = "The first load runs" if statement.by == "flow" else "Run before the next load"
            lock = f"locks {statement.lock}" if statement.lock else "locks nothing that exists"
            rewrites = "rewrites the table" if statement.rewrites else "rewrites no rows"
            yield f"{who} ({lock}, {rewrites}): {statement.sql}"
        yield from (f"{table.table}: {note}" for note in table.notes)
    if change.estimated_rows is not None:
        yield f"The next run reads about {change.estimated_rows:,} rows."


def show_applied(console: Console, applied: Applied) -> None:
    for step in applied.steps:
        version = f", version {step['after']}" if "after" in step else ""
        show_lines(console, [f"{step['kind']} {step['id']}: {step['action']}{version}"])
    for style, found in (("yellow", applied.refused), ("red", applied.failed)):
        for one in found:
            text = printable(f"{one.kind} {one.id}: not applied. {one.message}")
            console.print(text, style=style, markup=False)
            show_lines(console, [f"  [{one.code}] {one.hint}"])
    if not (applied.steps or applied.refused or applied.failed):
        show_lines(console, ["Nothing to apply: the workspace matches the project."])


def invalid_project(error: InvalidProject, status: int) -> Outcome:
    """Return the outcome of a command whose project is invalid."""
    document = {"valid": False, "diagnostics": [found.to_json() for found in error.diagnostics]}
    return Outcome(document, lambda console: show_lines_of(console, error), status, to_stderr=True)


def show_lines_of(console: Console, error: InvalidProject) -> None:
    for found in error.diagnostics:
        diagnostic = found.diagnostic
        line = printable(f"{found.place}: {diagnostic.severity}: {diagnostic.message}")
        console.print(line, style=_COLOURS[diagnostic.severity], markup=False)
        show_lines(console, [f"  [{diagnostic.code}] {diagnostic.hint}"])
