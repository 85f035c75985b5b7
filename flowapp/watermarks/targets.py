"""The targets of a pipeline that have a watermark."""

from __future__ import annotations

from dataclasses import dataclass

from executors.target_database import TableName, WatermarkKey
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from ir.connectors import CONNECTORS
from ir.errors import FlowError
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.pipeline import Pipeline as Document


@dataclass(frozen=True, slots=True)
class WatermarkTarget:
    """A target with a watermark. `reads_files` means that its source gives files, each of which is loaded once."""

    pipeline: Pipeline
    node: Target
    reads_files: bool

    @property
    def key(self) -> WatermarkKey:
        table = TableName(self.node.schema_, self.node.table)
        return WatermarkKey(str(self.pipeline.workspace_id), self.pipeline.slug, table)

    @property
    def column(self) -> str:
        return str(self.node.watermark_column)


def list_watermark_targets(pipeline: Pipeline) -> list[WatermarkTarget]:
    """Return the targets of the newest version that have a watermark; none before the first version."""
    if not pipeline.latest_number:
        return []
    document = read_document(get_version(pipeline).document)
    return [
        WatermarkTarget(pipeline, target, _reads_files(document, target))
        for target in document.targets()
        if load_mode(target.load_mode).keeps_watermark
    ]


def _reads_files(document: Document, target: Target) -> bool:
    return CONNECTORS[document.path_to(target).source.connector].reads == "files"


def find_watermark_target(pipeline: Pipeline, node: str) -> WatermarkTarget:
    """Return the target. Raises FlowError `watermark.unknown`."""
    targets = list_watermark_targets(pipeline)
    for target in targets:
        if target.node.id == node:
            return target
    known = ", ".join(target.node.id for target in targets) or "none"
    raise FlowError(
        "watermark.unknown",
        f"Pipeline {pipeline.slug!r} has no target {node!r} with a watermark in its newest version.",
        hint=f"Targets of load mode incremental_watermark: {known}.",
    )
