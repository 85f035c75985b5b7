"""Changes watermarks in their databases, and records the reason."""

from __future__ import annotations

from executors import target_database
from executors.api import LoadCommit, LoadKind
from executors.target_database import TableName
from flowapp.runs.models import Run
from flowapp.watermarks.models import WatermarkCopy
from flowapp.watermarks.selectors import Watermark, connection_of, get_watermark, keep_copy
from flowapp.watermarks.targets import WatermarkTarget
from ir.errors import FlowError


def set_watermark(target: WatermarkTarget, value: str, reason: str, by: str) -> Watermark:
    """Let the next load begin at that value. Raises FlowError for a value that is none of the column's type, for want
    of a reason, and Failure when the database cannot be asked or another load holds the table."""
    _require_reason(reason)
    target_database.set_watermark(
        connection_of(target),
        target.key,
        target.column,
        value,
        node=target.node.id,
        by=by,
        reason=reason.strip(),
        lead=target.node.watermark_lead,
    )
    return get_watermark(target)


def reset_watermark(target: WatermarkTarget, reason: str, by: str) -> Watermark:
    """Let the next load begin at the highest value of the table, as a first one does. Raises what `set_watermark`
    raises."""
    _require_reason(reason)
    target_database.reset_watermark(
        connection_of(target),
        target.key,
        node=target.node.id,
        by=by,
        reason=reason.strip(),
    )
    return get_watermark(target)


def copy_watermark(run: Run, commit: LoadCommit) -> None:
    """Copy where a load has left its watermark, if it has one; or where a restore has put it, which may be nowhere."""
    if (watermark := commit.watermark) is not None:
        table = TableName(commit.table.schema, commit.table.table)
        keep_copy(run.pipeline, commit.node, table, column=watermark.column, type=watermark.type, value=watermark.value)
    elif commit.kind is LoadKind.RESTORE:
        WatermarkCopy.objects.filter(pipeline=run.pipeline_id, node=commit.node).delete()


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise FlowError("reason.required", "Changing a watermark needs a reason.", hint="Give a reason. It is stored.")
