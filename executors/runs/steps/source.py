"""Reads the data of its sources that a target still needs to load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from executors.commit_report import add_warnings
from executors.errors import Terminal
from executors.reading import Reading
from executors.runs.names import SCAN
from executors.runs.state import Inputs, Run
from executors.runs.steps.progress import log_source
from executors.runs.target_run import TargetRun
from ir.diagnostics import listed
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.pipeline import Path


def read_sources(run: Run, target: TargetRun) -> Inputs:
    """Return the new data of the target with the references of its joins; nothing if there is none. Only the first
    target of a source lists and scans it.

    Of united sources, a target that replaces its rows reads all or none: the rows of a source that is not read would be
    gone. Other targets read the sources that have something new. Raises Terminal `union.source_missing`.
    """
    found = {source.id: _read(run, target, source) for source in target.sources}
    replaces = load_mode(target.path.target.load_mode).replaces_all_rows
    if target.is_united and replaces and any(found.values()):
        for source in target.sources:
            found[source.id] = found[source.id] or _read(run, target, source, again=True)
        _refuse_missing(target.path.target, found)
    inputs: list[tuple[Path, Reading]] = []
    for path in target.paths:
        reading = found[path.source.id]
        if reading is not None:
            log_source(run.context, path.source, reading)
            first = max((origin.seq + 1 for _, before in inputs for origin in before.origins), default=0)
            inputs.append((path, reading.numbered_from(first)))
    return with_references(run, target, inputs)


def _read(run: Run, target: TargetRun, source: Source, *, again: bool = False) -> Reading | None:
    reader = run.context.source_reader
    reading = reader.read(source, target, run.targets_of(source), again=again)
    add_warnings(run.context.report, reader.warnings_of(source))
    if reading is not None and not again:
        # Now, because the scan of the next source is another step.
        run.context.ports.events.step_rows(SCAN.name, reading.records or 0)
    return reading


def _refuse_missing(target: Target, found: Mapping[str, Reading | None]) -> None:
    missing = [source for source, reading in found.items() if reading is None]
    if missing:
        raise Terminal(
            "union.source_missing",
            f"{listed(missing)} has no files, and {target.id} replaces all rows of {target.schema_}.{target.table} by "
            "the rows of all its sources. The table was not changed.",
            node=missing[0],
            hint="Put the files there, or use append or upsert. A source whose files move to a folder when they are "
            "loaded cannot be read again: remove atomicity.",
        )


def with_references(run: Run, target: TargetRun, inputs: Inputs) -> Inputs:
    """Return the readings with the references of the joins on their paths."""
    after = run.paths_after(target)
    later = [path for path, _ in inputs]
    found: list[tuple[Path, Reading]] = []
    for number, (path, reading) in enumerate(inputs, start=1):
        references = run.context.references.read(path, [*later[number:], *after])
        found.append((path, replace(reading, references=references)))
    add_warnings(run.context.report, run.context.references.warnings)
    return found
