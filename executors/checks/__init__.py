"""Dataset checks on the staged rows of a target: one file for each kind, and the table of kinds.

A check does not raise because of data. It returns `ok`, a message and the observed value, without row values. What it
counts is computed by the destination (`executors.checks.base.StagedRows`).
"""

from __future__ import annotations

from collections.abc import Sequence

from executors.checks import (
    cardinality,
    distinct_ratio,
    duplicate_key,
    freshness,
    mean,
    null_rate,
    row_count,
    schema_match,
    sum,
    unique,
)
from executors.checks.base import CheckHandler, StagedRows
from executors.errors import Terminal
from executors.report import CheckReport
from ir.checks import Check
from ir.kinds import KindTable
from ir.pipeline import Path

BoundCheck = tuple[str, str, Check]
"""(id of the validate node, kind in the document's spelling, check)"""

COMMON = tuple(
    (kind.HANDLER.kind, kind.HANDLER)
    for kind in (
        row_count,
        freshness,
        cardinality,
        duplicate_key,
        unique,
        sum,
        mean,
        distinct_ratio,
        null_rate,
        schema_match,
    )
)
"""The kinds of checks that each destination with checks has."""


def run_checks(
    handlers: KindTable[CheckHandler], staged: StagedRows, checks: Sequence[BoundCheck]
) -> list[CheckReport]:
    """Run the checks in order and return a report on each."""
    return [_run(handlers[kind], staged, node, kind, check) for node, kind, check in checks]


def _run(handler: CheckHandler, staged: StagedRows, node: str, kind: str, check: Check) -> CheckReport:
    outcome = handler.run(staged, check)
    return CheckReport(
        node, kind, outcome.wrong is None, outcome.message, outcome.observed, check.on_fail, subject=check.subject
    )


def probe_checks(handlers: KindTable[CheckHandler], staged: StagedRows, checks: Sequence[BoundCheck]) -> None:
    """Find obstacles to the checks before the source is read. Raises Terminal."""
    for node, kind, check in checks:
        try:
            handlers[kind].probe(staged, check)
        except Terminal as error:
            error.node = node
            raise


def bound_checks(path: Path) -> list[BoundCheck]:
    """Return the checks of the validate nodes of a path."""
    return [
        (validate.id, kind, check)
        for validate in path.validates
        if validate.dataset_level is not None
        for kind, check in validate.dataset_level.checks()
    ]
