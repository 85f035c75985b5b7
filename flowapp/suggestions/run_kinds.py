"""The run kind that samples rows of the source for suggestions."""

from __future__ import annotations

from flowapp.runs.models import RunKind
from flowapp.runs.run_kinds import RunKindSpec

SAMPLE = RunKindSpec(
    RunKind.SAMPLE,
    "runs/detail.html",
    "runs/_live.html",
    tag="sample",
    again="Run the pipeline",
)
