"""Which targets of a pipeline follow a watermark, and whose watermark each of them is."""

from __future__ import annotations

from dataclasses import dataclass

from executors.target_database import TableName, WatermarkKey
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from ir.errors import FlowError
from ir.load_modes import load_mode
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class WatermarkTarget:
    """A target that follows a watermark."""

    pipeline: Pipeline
    node: Target

    @property
    def key(self) -> WatermarkKey:
        table = TableName(self.node.schema_, self.node.table)
        return WatermarkKey(str(self.pipeline.workspace_id), self.pipeline.slug, table)

    @property
    def column(self) -> str:
        return str(self.node.watermark_column)


def list_watermark_targets(pipeline: Pipeline) -> list[WatermarkTarget]:
    """The targets that follow a watermark, by the newest version; none before the first save."""
    if not pipeline.latest_number:
        return []
    document = read_document(get_version(pipeline).document)
    return [
        WatermarkTarget(pipeline, target)
        for target in document.targets()
        if load_mode(target.load_mode).keeps_watermark
    ]


def find_watermark_target(pipeline: Pipeline, node: str) -> WatermarkTarget:
    """Raises FlowError `watermark.unknown`."""
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
