"""The way of rejected rows through a pipeline: as it stands now, with each row validated for itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from executors.errors import Terminal
from executors.model import RowsRef
from ir.checks import DatasetLevel
from ir.load_modes import load_mode
from ir.nodes import Target, Transform, Validate
from ir.nodes.branch import Take
from ir.ops import (
    AnyOp,
    Cast,
    Deduplicate,
    Derive,
    Filter,
    Flatten,
    Join,
    JsonPath,
    RegexExtract,
    Rename,
    SqlQuery,
    Window,
)
from ir.pipeline import Path
from ir.rules import RowRule, rule_id


def replay_path(path: Path, ref: RowsRef) -> Path:
    """The way of rejected rows: as it stands now, but what would end a run only keeps a row back, and rows are added to
    the table whatever its mode. Those that came from ops already do not go through them again."""
    source, transforms = path.source, path.transforms
    if ref.row_from == "input":
        source, transforms = source.model_copy(update={"columns": None}), ()
    return Path(source, transforms, tuple(map(_by_row, path.validates)), _adding(path.target), path.references)


def require_replayable(path: Path, row_from: str) -> None:
    """Raise Terminal where an op looks at several rows: of replayed rows it would see these alone. `replay.window`
    where it computes columns from them, `replay.deduplicates` where it says which of them stays: it would let through
    what falls out beside the others.

    An upsert is safe where rows of one key of the op have one key in the table, and where the row that the op keeps
    gets there: a row whose key is there stays out.
    """
    if row_from == "input":
        return
    key = set(path.target.upsert_key or ()) if load_mode(path.target.load_mode).needs_key else set()
    for node, op, later in _ops(path.transforms):
        if isinstance(op, Window):
            raise _looks_at_others(node)
        if isinstance(op, Deduplicate) and not (key and _follows(key, op, later) and not any(map(_filters, later))):
            raise _deduplicates(path.target, node, op)


def _ops(transforms: Iterable[Transform]) -> list[tuple[Transform, AnyOp, list[AnyOp]]]:
    """Each op with its node and the ops behind it."""
    ops = [(node, op) for node in transforms for op in node.ops]
    return [(node, op, [after for _, after in ops[i + 1 :]]) for i, (node, op) in enumerate(ops)]


def _follows(key: set[str], op: Deduplicate, later: Iterable[AnyOp]) -> bool:
    """Whether the key in the table is made of nothing but the keys of the op."""
    made = {name for after in later for name in _made(after)}
    return key <= set(op.keys) - made


def _filters(op: Any) -> bool:
    """Whether an op may filter the row that another op has kept of its key: the table does not have that key then."""
    match op:
        case Join():
            return op.type != "left"
        case SqlQuery():
            query = op.parsed()
            return query is None or query.where is not None
    return isinstance(op, Filter | Take)


def _made(op: AnyOp) -> Iterable[str]:
    """The columns that an op may give values that differ where those before were equal. `trim`, `fillNull` and most
    casts give equal values equal results."""
    match op:
        case Cast():
            # 0.0 and -0.0 are equal as numbers, and differ as texts.
            return (name for name, to in op.columns.items() if to == "string")
        case Derive():
            return op.columns
        case Rename():
            return (name for pair in op.columns.items() for name in pair)
        case RegexExtract() | JsonPath():
            return (op.as_,)
        case Flatten():
            return map(op.name_of, op.columns)
        case Join():
            return op.columns.values()
        case SqlQuery():
            query = op.parsed()
            return (item.name for item in query.items if item.name != item.column) if query else ()
    return ()


def _deduplicates(target: Target, node: Transform, op: Deduplicate) -> Terminal:
    return Terminal(
        "replay.deduplicates",
        f"{node.id!r} keeps one row of each {', '.join(op.keys)}. In a replay it would see the rejected rows alone: "
        f"one that it drops among all rows would come into {target.schema_}.{target.table}.",
        node=node.id,
        hint="Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore these. "
        "A target with loadMode upsert, whose upsertKey is made of these keys, takes replays if no later operation "
        "filters rows.",
    )


def _looks_at_others(node: Transform) -> Terminal:
    return Terminal(
        "replay.window",
        f"{node.id!r} computes columns from several rows. In a replay it would see the rejected rows alone.",
        node=node.id,
        hint="Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore these.",
    )


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
    kinds = {check.kind for _, check in level.checks() if not check.validates_rows}
    others = [name for name, field in type(level).model_fields.items() if field.alias in kinds]
    return level.model_copy(update=dict.fromkeys(others))
