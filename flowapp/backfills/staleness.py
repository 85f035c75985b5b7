"""Whether the chunks of a backfill still fit the newest document."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from flowapp.backfills.models import COMPLETE, Backfill, Chunk
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.selectors import get_version
from ir.errors import FlowError
from ir.words import counted


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


_SAME_ROWS = frozenset(
    ("name", "description", "ui", "hold", "backupBeforeLoad", "expectedRowCountDelta", "preHook", "postHook")
)
"""Settings of nodes that change neither which rows are loaded nor their values."""


def list_outdated(backfill: Backfill) -> QuerySet[Chunk]:
    """List the loaded chunks whose rows the newest document would transform, check or map in another way than the
    version with which they were loaded."""
    loaded = backfill.chunks.filter(status__in=COMPLETE)
    newest = get_version(backfill.pipeline)
    used = PipelineVersion.objects.filter(runs__chunks__in=loaded).exclude(pk=newest.pk).distinct()
    now = _nodes(newest.document)
    others = [version.pk for version in used if _nodes(version.document) != now]
    return loaded.filter(run__version__in=others).order_by("ordinal") if others else loaded.none()


def describe_outdated(pipeline: Pipeline) -> str:
    """Say after a change of the document that loaded chunks stay as they are; "" if it does not concern them."""
    backfill = Backfill.objects.filter(pipeline=pipeline).select_related("pipeline").order_by("-number").first()
    number = list_outdated(backfill).count() if backfill is not None else 0
    if not number:
        return ""
    stays = "stays as an earlier version has loaded it" if number == 1 else "stay as an earlier version has loaded them"
    return f"{counted(number, 'chunk')} of the backfill {stays}. The page of the backfill offers to load them again."


def _nodes(text: str) -> list[dict[str, Any]]:
    nodes = read_document(text).to_document()["nodes"]
    return [{name: value for name, value in node.items() if name not in _SAME_ROWS} for node in nodes]
