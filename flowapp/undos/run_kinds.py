"""The run kind that deletes the rows of a file."""

from __future__ import annotations

from executors.model import FileUndo as FileToUndo
from flowapp.runs.models import Run, RunKind
from flowapp.runs.run_kinds import RunKindSpec
from flowapp.undos.models import FileUndo


def file_of(run: Run) -> FileToUndo | None:
    """Return the file that a run undoes."""
    found = FileUndo.objects.select_related("unit").filter(run=run).first()
    return FileToUndo(found.unit.sha256, found.unit.name, found.reason, found.rows) if found else None


UNDO = RunKindSpec(
    RunKind.UNDO,
    "runs/detail.html",
    "runs/_live.html",
    undo=file_of,
    tag="undo",
    again="Run the pipeline",
)
