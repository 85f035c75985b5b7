"""`unique` allows repeated NULLs, like a unique constraint."""

from __future__ import annotations

from executors.postgres.checks.base import CheckHandler, Outcome, Staged
from executors.postgres.checks.duplicate_key import check_key, probe
from ir.checks import Unique


def run(staged: Staged, check: Unique) -> Outcome:
    return check_key(staged, check, [check.column])


HANDLER = CheckHandler(Unique.kind, run, probe)
