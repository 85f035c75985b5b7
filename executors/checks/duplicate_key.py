"""`duplicateKey` ignores rows with NULL in a key column, and passes without rows.

If a load only adds rows, existing rows of the table count too.
"""

from __future__ import annotations

from collections.abc import Sequence

from executors.checks.base import CheckHandler, Outcome, RepeatedKeys, StagedRows, require_columns
from executors.table_name import TableName
from ir.checks import DuplicateKey
from ir.checks.base import Check
from ir.pointers import ROOT
from ir.words import counted


def run(staged: StagedRows, check: DuplicateKey) -> Outcome:
    return check_key(staged, check, check.columns)


def check_key(staged: StagedRows, check: Check, columns: Sequence[str]) -> Outcome:
    """Check a key. The observed value is the number of staged rows whose key is not unique."""
    found = staged.count_repeated(check, columns)
    return Outcome(_wrong(staged, columns, found) if found.rows else None, found.rows)


def probe(staged: StagedRows, check: Check) -> None:
    """Check also that the table can be read."""
    require_columns(staged, check)
    if staged.adds_rows:
        staged.require_key(check, [name for name, _ in check.reads(ROOT)])


def _wrong(staged: StagedRows, columns: Sequence[str], found: RepeatedKeys) -> str:
    named, table = ", ".join(columns), TableName(staged.dest.schema, staged.dest.table)
    parts = []
    if found.repeated:
        parts.append(f"{counted(found.repeated, 'row')} with {counted(found.keys, 'repeated value')} of {named}")
    if found.there:
        parts.append(f"{counted(found.there, 'row')} with values of {named} that already exist in {table}")
    return "; ".join(parts)


HANDLER = CheckHandler(DuplicateKey.kind, run, probe)
