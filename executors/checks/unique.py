"""`unique` allows repeated NULLs, like a unique constraint."""

from __future__ import annotations

from executors.checks.base import CheckHandler, Outcome, StagedRows
from executors.checks.duplicate_key import check_key, probe
from ir.checks import Unique


def run(staged: StagedRows, check: Unique) -> Outcome:
    return check_key(staged, check, [check.column])


HANDLER = CheckHandler(Unique.kind, run, probe)
