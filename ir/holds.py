"""Rules about `hold`: whether its limits can be exceeded, and whether they can be measured."""

from __future__ import annotations

from ir.diagnostics import Skipped, diagnose
from ir.load_modes import load_mode
from ir.load_modes.base import Findings, TargetView

ROW_LIMITS = {"max_decrease_pct": "maxDecreasePct", "max_key_loss_pct": "maxKeyLossPct"}
"""The limits on removed rows, by attribute. Only a mode that replaces all rows removes rows."""


def check_hold(view: TargetView) -> Findings:
    hold, at = view.target.hold, view.at / "hold"
    if hold is None:
        return
    if not load_mode(view.target.load_mode).replaces_all_rows:
        for name in sorted(ROW_LIMITS.keys() & hold.model_fields_set):
            alias = ROW_LIMITS[name]
            yield diagnose(
                "hold.limit_unused",
                at / alias,
                f"The load mode {view.target.load_mode} removes no rows, so {alias} has no effect.",
                fixes=[[{"op": "remove", "path": str(at / alias)}]],
            )
    elif hold.max_key_loss_pct is not None:
        yield from _check_key(view)


def _check_key(view: TargetView) -> Findings:
    at = view.at / "hold" / "maxKeyLossPct"
    if not view.looked:
        yield Skipped("hold.key_required", at, "the table's constraints are unknown without access to it")
        return
    found = view.destination
    if found is None:
        return
    filled = {column.name for column in found.columns if not column.nullable}
    if not any(key <= filled for key in found.unique_keys):
        message = f"{found.schema}.{found.table} has no unique key on columns without NULLs."
        yield diagnose("hold.key_required", at, message)
