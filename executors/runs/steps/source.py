"""Reads the data of a source that a target still needs to load."""

from __future__ import annotations

from dataclasses import replace

from executors.commit_report import add_warnings
from executors.reading import Reading
from executors.runs.state import Run
from executors.runs.steps.progress import log_source
from executors.runs.target_run import TargetRun


def read_source(run: Run, target: TargetRun) -> Reading | None:
    """Return the new data of the target with the references of its joins; None if there is none. Only the first target
    lists and scans the source."""
    reader, source = run.context.source_reader, target.path.source
    reading = reader.read(target, run.targets_of(source))
    add_warnings(run.context.report, reader.warnings_of(source))
    if reading is None:
        return None
    log_source(run.context, source, reading)
    return with_references(run, target, reading)


def with_references(run: Run, target: TargetRun, reading: Reading) -> Reading:
    """Return the reading with the references of the joins on the target's path."""
    return replace(reading, references=run.context.references.read(target.path, run.paths_after(target)))
