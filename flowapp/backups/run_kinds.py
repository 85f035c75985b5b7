"""The run kind that restores a backup."""

from __future__ import annotations

from flowapp.backups.records import restored_by
from flowapp.runs.models import RunKind
from flowapp.runs.run_kinds import RunKindSpec

RESTORE = RunKindSpec(
    RunKind.RESTORE,
    "runs/detail.html",
    "runs/_live.html",
    backup=restored_by,
    tag="restore",
    again="Run the pipeline",
)
