"""Change watermarks in their databases, and record the reason."""

from __future__ import annotations

from executors import target_database
from executors.api import LoadCommit, LoadKind
from executors.target_database import TableName
from flowapp.runs.models import Run
from flowapp.watermarks.models import WatermarkCopy
from flowapp.watermarks.selectors import Watermark, connection_of, get_watermark, keep_copy
from flowapp.watermarks.targets import WatermarkTarget
from ir.errors import FlowError


def set_watermark(
    target: WatermarkTarget, value: str, reason: str, by: str, *, revision: str | None = None
) -> Watermark:
    """Make the next load begin at that value. With `revision`, fail if the watermark has changed since that revision.

    Raises FlowError if the value does not have the column's type, the reason is missing or the watermark has another
    revision, and Failure if the database cannot be reached or another load holds the table."""
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
        expected=revision,
    )
    return get_watermark(target)


def reset_watermark(target: WatermarkTarget, reason: str, by: str, *, revision: str | None = None) -> Watermark:
    """Make the next load begin at the highest value of the table, like a first load. Raises the errors of
    `set_watermark`."""
    _require_reason(reason)
    target_database.reset_watermark(
        connection_of(target),
        target.key,
        node=target.node.id,
        by=by,
        reason=reason.strip(),
        expected=revision,
    )
    return get_watermark(target)


def copy_watermark(run: Run, commit: LoadCommit) -> None:
    """Copy the watermark that a load or a restore has set, if there is one."""
    if (watermark := commit.watermark) is not None:
        table = TableName(commit.table.schema, commit.table.table)
        keep_copy(run.pipeline, commit.node, table, column=watermark.column, type=watermark.type, value=watermark.value)
    elif commit.kind is LoadKind.RESTORE:
        WatermarkCopy.objects.filter(pipeline=run.pipeline_id, node=commit.node).delete()


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise FlowError("reason.required", "Changing a watermark needs a reason.", hint="Give a reason. It is stored.")
