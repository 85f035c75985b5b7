"""Whether the chunks of a backfill still fit the newest document."""

from __future__ import annotations

from typing import Any

from flowapp.backfills.models import Backfill
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from ir.errors import FlowError


def refuse_other_document(backfill: Backfill, pipeline: Pipeline) -> None:
    """Raise FlowError `backfill.outdated` if the newest document reads another source, another part of its history, or
    loads another table than the loaded chunks."""
    planned = backfill.run.document if backfill.run is not None and backfill.planned_at is not None else ""
    if planned and _identity(planned) != _identity(get_version(pipeline).document):
        raise FlowError(
            "backfill.outdated",
            f"The source, the target or the startFrom of {pipeline.slug!r} has changed since its chunks were planned.",
            hint="Restore the former version, or plan all chunks again: `flow backfill rewind` without a range.",
        )


def _identity(text: str) -> list[dict[str, Any]]:
    """Return the parts of a document that decide what a chunk is and where it is loaded."""
    document = read_document(text)
    written = document.to_document()
    backfill = written.get("backfill") or {}
    sources = [node for node in written["nodes"] if node.get("kind") == "source"]
    names = ("id", "connector", "connection", "schema", "table", "loadMode", "upsertKey", "watermarkColumn")
    targets = [{name: node.get(name) for name in names} for node in written["nodes"] if node.get("kind") == "target"]
    return [{name: backfill.get(name) for name in ("column", "partitionBy", "startFrom")}, *sources, *targets]
