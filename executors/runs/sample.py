"""A sample of the sources: rows as they reach the first rule, stored beside the target for a limited time."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from executors.destinations.base import SampledRow
from executors.errors import Terminal
from executors.model import RunJob
from executors.ports import Ports
from executors.reading import Reading
from executors.report import NodeReport, RunReport
from executors.runs.looking import without_effects
from executors.runs.names import LIST, PASS, SCAN, START
from executors.runs.opening import open_session, run_of, scanner
from executors.runs.runner import EachTarget, RunProcedure, carry_out
from executors.runs.state import Run
from executors.runs.step import enter
from executors.runs.steps.outcome import note_nothing_new
from executors.runs.steps.source import read_sources
from executors.runs.steps.start import every_path, open_targets, watch_cancellation
from executors.runs.target_run import TargetRun
from executors.sources.newest_reader import NewestFilesReader
from executors.sources.readers import SourceReaders
from executors.sources.snapshot_reader import SnapshotSourceReader
from ir.lineage import columns_of_other_rows
from ir.nodes import Source
from ir.pipeline import Path

MOST_ROWS = 2_000


def open_sample(job: RunJob, ports: Ports, stack: ExitStack) -> Run:
    ports, session = without_effects(ports), open_session(job, stack)
    files = NewestFilesReader(job, ports, scanner(job, session, stack))
    snapshots = SnapshotSourceReader(job, ports, stack, read_only=True)
    return run_of(job, ports, stack, session, SourceReaders(files, snapshots), read_only=True)


def sample_target(run: Run, target: TargetRun) -> TargetRun:
    """Store some rows of one target's source."""
    from executors.spark import sampling

    context, node = run.context, target.path.target
    _refuse_groups(target.path)
    if left_out := dict.fromkeys(name for path in target.paths for name in columns_of_other_rows(path)):
        text = f"The sample leaves out {', '.join(left_out)}: other rows determine the values, and a sample lacks rows."
        context.ports.events.log("warning", text, node.id)
    inputs = read_sources(run, target)
    enter(PASS, context.ports, node.id)
    sampled: list[SampledRow] = []
    types: dict[str, str] = {}
    for path, reading in inputs:
        found = sampling.Sampled([], {})
        if reading.parts:
            if reading.fields:
                found = sampling.sample_rows(context.session, path, reading, MOST_ROWS // len(inputs))
            if not found.rows:
                _refuse_mismatches(path.source, reading)
        names = {origin.seq: origin.name for origin in reading.origins}
        sampled += [SampledRow(names.get(row.file, ""), row.record, row.row) for row in found.rows]
        types = {**found.types, **types}
    target.handler.keep_sample(context.run_ref(node), target, sampled, types)
    context.report.row_counts[node.id] = len(sampled)
    context.ports.events.node_finished(NodeReport(node.id, "target", rows_in=len(sampled)))
    return replace(target, nothing_new=not sampled)


def _refuse_groups(path: Path) -> None:
    """Raise Terminal where rows of a sample would make parts of groups."""
    for transform in path.transforms:
        if transform.aggregates:
            raise Terminal(
                "sample.aggregates",
                f"{transform.id!r} makes groups of all rows. Groups of a sample have other values.",
                node=transform.id,
                hint="Preview the node instead, or write the rules by what you know of the groups.",
            )


def _refuse_mismatches(source: Source, reading: Reading) -> None:
    """Raise Terminal if settings of the source may be the reason that no row is readable."""
    if mismatches := reading.find_mismatches(reading.origins):
        names = ", ".join(origin.name for origin in reading.origins[:3])
        raise Terminal(
            "source.nothing_readable",
            f"No row of {names} can be read: {'; '.join(mismatches)}.",
            node=source.id,
            hint="Correct the format of the source.",
        )


SAMPLE_RUN = RunProcedure(
    open_sample,
    (
        START.does(watch_cancellation, open_targets(every_path, "sample", "samples")),
        EachTarget((LIST, SCAN, PASS), (sample_target, note_nothing_new)),
    ),
)


def sample_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Sample rows of each target's source, including data that was loaded before. Takes no fence and claims, moves and
    loads nothing. Raises the `Failure` that ended the run.
    """
    return carry_out(SAMPLE_RUN, job, ports)
