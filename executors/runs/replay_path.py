"""The path of rejected rows through a pipeline: the current document, in which each row is validated separately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from executors.errors import Terminal
from executors.model import RowsRef
from ir.checks import DatasetLevel
from ir.load_modes import load_mode
from ir.nodes import Target, Transform, Validate
from ir.ops import AnyOp, Deduplicate, Window
from ir.pipeline import Path
from ir.rules import RowRule, rule_id


def replay_path(path: Path, ref: RowsRef) -> Path:
    """Return the path of rejected rows. It is the current path, except that violations that would end a run only reject
    the row, and that rows are added to the table in all load modes. Rows that come from the output of ops skip these
    ops."""
    source, transforms = path.source, path.transforms
    if ref.row_from == "input":
        source, transforms = source.model_copy(update={"columns": None}), ()
    return Path(source, transforms, tuple(map(_by_row, path.validates)), _adding(path.target), path.references)


def require_replayable(path: Path, row_from: str) -> None:
    """Raise Terminal if an op depends on several rows, because a replay contains only the replayed rows:
    `replay.aggregates` if it makes groups of them, `replay.window` if it computes columns from other rows,
    `replay.deduplicates` if it selects one of several rows and could pass a row that it dropped before. Also raise
    Terminal `replay.mirror` if the target follows a table, which may have changed or deleted the row since.

    An upsert is safe if rows with one key of the op have one key in the table, and the row that the op retains gets
    there: a row whose key exists in the table is not loaded.
    """
    if load_mode(path.target.load_mode).follows_stream:
        raise _mirrors(path.target)
    for transform in path.transforms:
        if transform.aggregates:
            raise _aggregates(path.target, transform)
    if row_from == "input":
        return
    key = set(path.target.upsert_key or ()) if load_mode(path.target.load_mode).needs_key else set()
    for node, op, later in _ops(path.transforms):
        if isinstance(op, Window):
            raise _needs_other_rows(node)
        if isinstance(op, Deduplicate) and not (key and _follows(key, op, later)):
            raise _deduplicates(path.target, node, op)


def _ops(transforms: Iterable[Transform]) -> list[tuple[Transform, AnyOp, list[AnyOp]]]:
    """Return each op with its node and the later ops."""
    ops = [(node, op) for node in transforms for op in node.ops]
    return [(node, op, [after for _, after in ops[i + 1 :]]) for i, (node, op) in enumerate(ops)]


def _follows(key: set[str], op: Deduplicate, later: Sequence[AnyOp]) -> bool:
    """Return whether the key in the table consists only of keys of the op, and no later op filters the row that the op
    retains."""
    computed = {name for after in later for name in after.computes()}
    return key <= set(op.keys) - computed and not any(after.filters_rows for after in later)


def _deduplicates(target: Target, node: Transform, op: Deduplicate) -> Terminal:
    return Terminal(
        "replay.deduplicates",
        f"{node.id!r} keeps one row of each {', '.join(op.keys)}. In a replay it would see the rejected rows alone: "
        f"a row that it drops among all rows could be loaded into {target.schema_}.{target.table}.",
        node=node.id,
        hint="Correct the rows in their source, or the rule, and run the pipeline over them again; then ignore these. "
        "A target with loadMode upsert, whose upsertKey consists of these keys, allows replays if no later operation "
        "filters rows.",
    )


def _mirrors(target: Target) -> Terminal:
    return Terminal(
        "replay.mirror",
        f"{target.schema_}.{target.table} follows a table, which may have changed or deleted these rows since.",
        node=target.id,
        hint="Correct the rows at their source. The next load applies the changes; then ignore these rows.",
    )


def _aggregates(target: Target, node: Transform) -> Terminal:
    return Terminal(
        "replay.aggregates",
        f"{node.id!r} makes groups of all rows. In a replay it would see the rejected rows alone, and add parts of "
        f"groups to {target.schema_}.{target.table}.",
        node=node.id,
        hint="Correct the rows in their source, or the rule, and run the pipeline again: it makes all groups anew, and "
        "closes these rows.",
    )


def _needs_other_rows(node: Transform) -> Terminal:
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
    """Dataset checks are meaningless for some of the rows, except checks that evaluate each row."""
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
