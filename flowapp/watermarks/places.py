"""Which targets of a pipeline follow a mark, and whose mark each of them is."""

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
class Place:
    """A target that follows a mark."""

    pipeline: Pipeline
    target: Target

    @property
    def key(self) -> WatermarkKey:
        table = TableName(self.target.schema_, self.target.table)
        return WatermarkKey(str(self.pipeline.workspace_id), self.pipeline.slug, table)

    @property
    def column(self) -> str:
        return str(self.target.watermark_column)


def places_of(pipeline: Pipeline) -> list[Place]:
    """The targets that follow a mark, by the newest version; none before the first save."""
    if not pipeline.latest_number:
        return []
    document = read_document(get_version(pipeline).document)
    return [Place(pipeline, target) for target in document.targets() if load_mode(target.load_mode).keeps_watermark]


def place_of(pipeline: Pipeline, node: str) -> Place:
    """Raises FlowError `watermark.unknown`."""
    places = places_of(pipeline)
    for place in places:
        if place.target.id == node:
            return place
    known = ", ".join(place.target.id for place in places) or "none"
    raise FlowError(
        "watermark.unknown",
        f"Pipeline {pipeline.slug!r} has no target {node!r} with a watermark in its newest version.",
        hint=f"Targets of load mode incremental_watermark: {known}.",
    )
