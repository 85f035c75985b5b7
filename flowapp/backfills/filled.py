"""Whether the target of a pipeline can get the whole history again."""

from __future__ import annotations

from executors.target_database import TableName, WatermarkKey, describe_content
from flowapp.connections.target_databases import database_of
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from ir.errors import FlowError
from ir.load_modes import load_mode

_HINT_LOADED = (
    "Load a range again, from the lowest value of the source on: its rows are replaced. Or empty the table and reset "
    "its watermark first."
)
_HINT_UNFINISHED = (
    "Resume the backfill, or retry its failed chunks: loaded chunks stay loaded. To begin anew, empty the table and "
    "reset its watermark first."
)


def refuse_filled(pipeline: Pipeline, *, is_loaded: bool) -> None:
    """Ask the database whether chunks would add rows to those that the target has. Raises FlowError
    `backfill.target_filled`, and Failure if the database does not answer."""
    for target in read_document(get_version(pipeline).document).targets():
        if not load_mode(target.load_mode).keeps_watermark:
            continue
        table = TableName(target.schema_, target.table)
        key = WatermarkKey(str(pipeline.workspace_id), pipeline.slug, table)
        connection = database_of(pipeline.workspace, target, "Backfills are")
        if has := describe_content(connection, key, node=target.id):
            raise FlowError(
                "backfill.target_filled",
                f"{table} has {has}, and {target.load_mode} adds rows: loading everything again would add each row a "
                "second time. Nothing was changed.",
                hint=_HINT_LOADED if is_loaded else _HINT_UNFINISHED,
                node=target.id,
            )
