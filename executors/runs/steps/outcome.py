"""Reports the results of a target, and runs the actions after a load."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from executors.commit_report import add_commit, put_counts
from executors.load_record import LoadCommit
from executors.report import NodeReport, TargetCounts
from executors.runs.state import Run, RunContext
from executors.runs.target_run import TargetRun


def report_commit(context: RunContext, commit: LoadCommit, milliseconds: int = 0) -> None:
    """Report a load from its marker."""
    context.ports.events.committed(commit)
    new = add_commit(context.report, commit)
    new[-1].duration_ms = milliseconds
    for node in new:
        context.ports.events.node_finished(node)


def report_earlier_commit(context: RunContext, target: TargetRun, commit: LoadCommit) -> TargetRun:
    """Report a target that an earlier attempt has committed, from its marker. Nothing is read."""
    report_commit(context, commit)
    context.log(f"Attempt {commit.attempt} had already loaded this target.", target.path.target)
    return replace(target, loaded=commit)


def report_nothing_new(context: RunContext, target: TargetRun, words: str = "Nothing new for") -> TargetRun:
    node, report = target.path.target, context.report
    # Without a table, nothing was loaded before: all files are blank.
    blank = next((w.message for w in report.warnings if w.code == "source.blank" and not target.table_exists), None)
    report.nothing_new_reason = blank or _nothing_new(context, target)
    context.log(f"{words} {node.id}. {report.nothing_new_reason}", node)
    nothing = NodeReport.nothing(node.id)
    put_counts(report, node.id, TargetCounts(nodes=[nothing]))
    context.ports.events.node_finished(nothing)
    return replace(target, nothing_new=True)


def _nothing_new(context: RunContext, target: TargetRun) -> str:
    reasons = [(source.id, context.source_reader.nothing_new(source)) for source in target.sources]
    return " ".join(f"{source}: {reason}" if target.is_united else reason for source, reason in reasons)


def run_post_hooks(run: Run, target: TargetRun) -> TargetRun:
    """Run the post-hooks of a load. The load stays committed even if they fail."""
    if target.loaded is not None:
        target.hooks.after_load(target.loaded, partial(target.handler.add_hook_done, target, target.loaded))
    return target


def note_nothing_new(run: Run, target: TargetRun) -> TargetRun:
    """Report whether there was nothing new for any target so far."""
    run.context.report.nothing_new = all(known.nothing_new for known in run.targets)
    return target
