"""The way of rejected rows through a pipeline: as it stands now, with each row judged for itself."""

from __future__ import annotations

from typing import Any

from executors.model import RowsRef
from ir.checks import DatasetLevel
from ir.load_modes import load_mode
from ir.nodes import Target, Validate
from ir.pipeline import Path
from ir.rules import RowRule, rule_id


def replay_path(path: Path, ref: RowsRef) -> Path:
    """The way of rejected rows: as it stands now, but what would end a run only keeps a row back, and rows are added to
    the table whatever its mode. Those that came from ops already do not go through them again."""
    source, transforms = path.source, path.transforms
    if ref.row_from == "input":
        source, transforms = source.model_copy(update={"columns": None}), ()
    return Path(source, transforms, tuple(map(_by_row, path.validates)), _adding(path.target))


def _adding(target: Target) -> Target:
    mode = target.load_mode if load_mode(target.load_mode).needs_key else "append"
    mismatch = "skip" if target.on_type_mismatch == "abort" else target.on_type_mismatch
    return target.model_copy(update={"load_mode": mode, "hold": None, "on_type_mismatch": mismatch})


def _by_row(validate: Validate) -> Validate:
    """Checks of the whole say nothing of some of its rows, but for those that look at each."""
    update = {"row_level": [_skipping(rule) for rule in validate.row_level], "dataset_level": _of_rows(validate)}
    return validate.model_copy(update=update)


def _skipping(rule: RowRule) -> Any:
    update: dict[str, object] = {"id": rule_id(rule)}
    if rule.on_fail == "abort":
        update["on_fail"] = "skip"
    thresholds = {"max_violations", "max_violation_pct"} & type(rule).model_fields.keys()
    return rule.model_copy(update={**update, **dict.fromkeys(thresholds)})


def _of_rows(validate: Validate) -> DatasetLevel | None:
    level = validate.dataset_level
    if level is None:
        return None
    kinds = {check.kind for _, check in level.checks() if not check.judges_rows}
    others = [name for name, field in type(level).model_fields.items() if field.alias in kinds]
    return level.model_copy(update=dict.fromkeys(others))
