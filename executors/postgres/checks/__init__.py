"""Dataset checks, run as SQL on the staged rows of the winning tasks: one file for each kind, and the table of kinds.

A check does not raise because of data. It returns `ok`, a message and the observed value, without row values.
"""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import Terminal
from executors.postgres.checks import (
    cardinality,
    custom_sql,
    distinct_ratio,
    duplicate_key,
    fk_integrity,
    freshness,
    mean,
    null_rate,
    row_count,
    schema_match,
    sum,
    unique,
)
from executors.postgres.checks.base import CheckHandler, Staged
from executors.postgres.client import translate
from executors.report import CheckReport
from ir.checks import Check
from ir.kinds import KindTable

BoundCheck = tuple[str, str, Check]
"""(id of the validate node, kind in the document's spelling, check)"""

_KINDS = (
    row_count,
    freshness,
    fk_integrity,
    cardinality,
    duplicate_key,
    unique,
    sum,
    mean,
    distinct_ratio,
    null_rate,
    schema_match,
    custom_sql,
)
HANDLERS: KindTable[CheckHandler] = KindTable("check handler", ((kind.HANDLER.kind, kind.HANDLER) for kind in _KINDS))


@translate()
def run_checks(staged: Staged, checks: Sequence[BoundCheck]) -> list[CheckReport]:
    """Run the checks in order and return a report on each."""
    with staged.conn.transaction():
        return [_run(staged, *bound) for bound in checks]


def _run(staged: Staged, node: str, kind: str, check: Check) -> CheckReport:
    outcome = HANDLERS[kind].run(staged, check)
    return CheckReport(
        node, kind, outcome.wrong is None, outcome.message, outcome.observed, check.on_fail, subject=check.subject
    )


@translate()
def probe_checks(staged: Staged, checks: Sequence[BoundCheck]) -> None:
    """Find obstacles to the checks before the source is read. Raises Terminal."""
    for node, kind, check in checks:
        try:
            HANDLERS[kind].probe(staged, check)
        except Terminal as error:
            error.node = node
            raise


__all__ = ["HANDLERS", "BoundCheck", "Staged", "probe_checks", "run_checks"]
