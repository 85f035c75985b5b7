"""Dataset checks on rows that are staged in PostgreSQL: the common ones, and two that need a database."""

from __future__ import annotations

from collections.abc import Sequence

from executors import checks as common
from executors.checks import COMMON, BoundCheck
from executors.checks.base import CheckHandler
from executors.postgres.checks import custom_sql, fk_integrity
from executors.postgres.checks.base import Staged
from executors.postgres.client import translate
from executors.report import CheckReport
from ir.kinds import KindTable

HANDLERS: KindTable[CheckHandler] = KindTable(
    "check handler", (*COMMON, *((kind.HANDLER.kind, kind.HANDLER) for kind in (fk_integrity, custom_sql)))
)


@translate()
def run_checks(staged: Staged, checks: Sequence[BoundCheck]) -> list[CheckReport]:
    """Run the checks in order and return a report on each."""
    with staged.conn.transaction():
        return common.run_checks(HANDLERS, staged, checks)


@translate()
def probe_checks(staged: Staged, checks: Sequence[BoundCheck]) -> None:
    """Find obstacles to the checks before the source is read. Raises Terminal."""
    common.probe_checks(HANDLERS, staged, checks)


__all__ = ["HANDLERS", "Staged", "probe_checks", "run_checks"]
