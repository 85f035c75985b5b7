"""The load mode `upsert`."""

from __future__ import annotations

from collections.abc import Iterable

from ir.diagnostics import Patch, Skipped, diagnose, listed, shown
from ir.load_modes.base import Findings, LoadMode, TargetView, check_known
from ir.names import check_repeated
from ir.ordering import check_order, has_direction, has_order


def check(view: TargetView) -> Findings:
    key, at = view.target.upsert_key, view.at / "upsertKey"
    if not key:
        yield diagnose("upsert.key_required", at, "upsert needs a key in upsertKey.", fixes=_unique_keys(view))
        return
    yield from check_repeated(key, at)
    for i, column in enumerate(key):
        yield from check_known("upsert.key_unknown", column, at / i, view)
    yield from _check_order(view)
    yield from _check_rest(key, view)
    yield from _check_unique(key, view)


def _check_order(view: TargetView) -> Findings:
    order_by, at = view.target.order_by, view.at / "orderBy"
    if order_by is None:
        return
    if has_direction(order_by):
        yield from check_order(order_by, at)
        return
    yield from check_known("upsert.order_unknown", order_by, at, view)
    kind = view.type_of(order_by)
    if kind is not None and not has_order(kind):
        message = f"{shown(order_by)} is {kind}, which has no order, so the newer of two rows is unknown."
        yield diagnose("upsert.order_unordered", at, message)


def _check_rest(key: Iterable[str], view: TargetView) -> Findings:
    """Check that there is a column to update. Rows have no other columns than the table, so checking the table's
    columns is sufficient."""
    at = view.at / "upsertKey"
    known = view.projected.present if view.projected.closed else view.table_columns()
    if known is None:
        yield Skipped("upsert.key_covers_all", at, "the columns of the rows are unknown without access to them")
    elif set(known) <= set(key):
        yield diagnose("upsert.key_covers_all", at, "The key covers every column, so there is nothing to update.")


def _check_unique(key: list[str], view: TargetView) -> Findings:
    at = view.at / "upsertKey"
    if not view.looked:
        yield Skipped("upsert.key_not_unique", at, "the table's constraints are unknown without access to it")
    elif view.destination is not None and frozenset(key) not in view.destination.unique_keys:
        yield diagnose(
            "upsert.key_not_unique",
            at,
            f"The table has no valid, immediate and full unique constraint on exactly {listed(key)}.",
            hint=f"Example: {_constraint(key, view)}",
            fixes=_unique_keys(view),
        )


def _unique_keys(view: TargetView) -> list[Patch]:
    """Return the unique keys of the table, each as a patch that makes it the upsertKey."""
    if view.destination is None:
        return []
    columns = [column.name for column in view.destination.columns]
    keys = sorted(sorted(key, key=columns.index) for key in view.destination.unique_keys if key <= set(columns))
    leaves_some = [key for key in keys if len(key) < len(columns)]
    return [[{"op": "add", "path": str(view.at / "upsertKey"), "value": key}] for key in leaves_some]


def _constraint(key: list[str], view: TargetView) -> str:
    """Return the statement that makes the key unique, for a user to run."""
    table = f"{_quoted(view.target.schema_)}.{_quoted(view.target.table)}"
    return f"ALTER TABLE {table} ADD UNIQUE ({listed(_quoted(column) for column in key)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


MODE = LoadMode(
    name="upsert",
    sentence="Updates rows whose key exists and adds the others.",
    runs="INSERT … ON CONFLICT (key) DO UPDATE of the staged rows, the last one of each key; with orderBy a "
    "row that is older than the one in the table stays out",
    needs="A key in upsertKey. An existing table needs a unique constraint on exactly these columns.",
    fields=frozenset({"upsert_key", "order_by"}),
    needs_key=True,
    check=check,
)
