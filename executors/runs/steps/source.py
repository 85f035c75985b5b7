"""What a target is to load, out of what its source has."""

from __future__ import annotations

from executors.commit_report import add_warnings
from executors.reading import Reading
from executors.runs.state import Run
from executors.runs.target_run import TargetRun


def read_source(run: Run, target: TargetRun) -> Reading | None:
    """Return the new data of the target; None if there is none. Only the first target lists and scans the source."""
    reader, source = run.context.source_reader, target.path.source
    reading = reader.read(target, run.targets_of(source))
    add_warnings(run.context.report, reader.warnings_of(source))
    return reading
