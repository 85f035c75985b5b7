"""The public interface of `executors`: runs of every kind, previews of nodes, Spark, hooks, webhooks, held loads, file
detection, and suggested rules.

The layers above import this module, `executors.model`, `executors.report`, `executors.errors` and
`executors.target_database`, and no other. Spark is imported at its first use, so that a web process never loads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from executors.commit_report import add_commit, add_hook, add_warnings
from executors.connection_failures import describe_connection_failure
from executors.database_probe import DatabaseProbe, probe_database
from executors.destinations import load_destination
from executors.detection import (
    LOOKED_AT_BYTES,
    Cell,
    ColumnFit,
    DetectedColumn,
    Detection,
    Fit,
    GivenSettings,
    Key,
    Problem,
)
from executors.detection import detect as detect_file
from executors.detection import fit as fit_file
from executors.discarding import ClaimedFile, archive_discarded
from executors.formats.signatures import HEAD_BYTES, unreadable_kind
from executors.formats.zip_archives import Members, is_archive, members_in, open_member
from executors.holding import Held, Reason, StagedLoad
from executors.hooks.base import Interruption
from executors.hooks.webhook import post_webhook
from executors.hooks.webhook import sign as sign_webhook
from executors.load_record import LoadCommit, LoadKind, RunRef
from executors.model import MODULE_BYTES, BackupRef, Connection, ModuleFacts, RunJob, StoreConnection
from executors.mysql_cdc.observing import FileFacts, observe_file
from executors.node_preview.model import LONGEST_VALUE, SAMPLE_KINDS, NodePreview, NodePreviewJob, SampleKind
from executors.ports import Cancellation, Ports, RateBudget, WriteBudget
from executors.postgres_cdc.names import LogNames, names_of
from executors.postgres_cdc.observing import SlotFacts, drop_unread_slot, observe_slot
from executors.processes.private_folder import sweep_private_folders
from executors.report import HookReport, RunReport, RunWarning
from executors.runs.kinds import RUNS, STEPS
from executors.runs.names import LABELS as STEP_LABELS
from executors.runs.names import may_commit
from executors.runs.replay_path import require_replayable
from executors.runs.restore import DELETED, UNDONE, hooks_not_run
from executors.runs.step import Step
from executors.schema_changes import ChangeKind, SchemaChange, SchemaRefused
from executors.singer.catalogs import Stream
from executors.singer.environments import Tap, TapFolder
from executors.singer.installing import TapRequest, allow_settings, install_tap, remove_tap
from executors.singer.reading import find_streams
from executors.sources.http_sample import sample_records
from executors.sources.peek import peek_columns, peek_files, peek_head, peek_member
from executors.sources.spooled import sweep_spools
from executors.spark.address import server_name
from executors.stores.host_keys import read_host_key
from executors.stores.probing import StoreProbe, list_store, probe_store, read_head
from executors.suggestions import LEAST_ROWS, Proposal, Trial, propose, try_rule
from executors.target_database.commits import note_hook_done
from executors.target_hooks import run_hook, undone_hooks
from ir.errors import FlowError
from ir.hooks.base import TargetHook
from ir.nodes import Target
from ir.pipeline import Pipeline

__all__ = [
    "DELETED",
    "HEAD_BYTES",
    "LEAST_ROWS",
    "LONGEST_VALUE",
    "LOOKED_AT_BYTES",
    "MODULE_BYTES",
    "SAMPLE_KINDS",
    "STEP_LABELS",
    "UNDONE",
    "Cancellation",
    "Cell",
    "ChangeKind",
    "ClaimedFile",
    "ColumnFit",
    "DatabaseProbe",
    "DetectedColumn",
    "Detection",
    "FileFacts",
    "Fit",
    "GivenSettings",
    "Held",
    "Interruption",
    "Key",
    "LoadCommit",
    "LoadKind",
    "LogNames",
    "Members",
    "ModuleFacts",
    "NodePreview",
    "NodePreviewJob",
    "Ports",
    "Problem",
    "Proposal",
    "RateBudget",
    "Reason",
    "RunKindName",
    "RunRef",
    "SampleKind",
    "SchemaChange",
    "SchemaRefused",
    "SlotFacts",
    "StagedLoad",
    "Step",
    "StoreProbe",
    "Stream",
    "Tap",
    "TapFolder",
    "TapRequest",
    "Trial",
    "WriteBudget",
    "add_warnings",
    "allow_settings",
    "archive_discarded",
    "describe_connection_failure",
    "detect_file",
    "drop_unread_slot",
    "fence_and_find_commits",
    "find_streams",
    "fit_file",
    "inspect_module",
    "install_tap",
    "is_archive",
    "list_steps",
    "list_store",
    "may_commit",
    "members_in",
    "names_of",
    "observe_file",
    "observe_slot",
    "open_member",
    "peek_columns",
    "peek_files",
    "peek_head",
    "peek_member",
    "post_webhook",
    "preview_node",
    "probe_database",
    "probe_store",
    "propose",
    "read_head",
    "read_host_key",
    "remove_tap",
    "report_commits",
    "require_replayable",
    "rerun_hook",
    "run",
    "sample_records",
    "server_name",
    "sign_webhook",
    "spark_answers",
    "spark_is_started",
    "sweep_private_folders",
    "sweep_spools",
    "try_rule",
    "unreadable_kind",
    "warm_up_spark",
]

RunKindName = Literal[
    "load",
    "preview",
    "restore",
    "undo",
    "replay",
    "recheck",
    "fix",
    "sample",
    "plan",
    "chunk",
    "finish_backfill",
    "stream",
]


def run(kind: RunKindName, job: RunJob, ports: Ports) -> RunReport:
    """Run one attempt to its end and return its report. Raises the `Failure` that ended the attempt."""
    return RUNS[kind](job, ports)


def list_steps(kind: RunKindName) -> tuple[Step[Any], ...]:
    """Return the steps of a kind of run in their order, without repetitions."""
    return tuple({step.name: step for step in STEPS[kind]}.values())


def inspect_module(name: str, content: bytes) -> ModuleFacts:
    """Compile a WebAssembly module and return its facts. Raises Terminal if it cannot be used as a custom transform."""
    from executors.wasm import inspect_module

    return inspect_module(name, content)


def fence_and_find_commits(
    target: Target, run: RunRef, connections: Mapping[str, Connection], stores: Mapping[str, StoreConnection]
) -> list[LoadCommit]:
    """Raise the fence of a target to the token of `run`, so that no older load can commit, and return the commits of
    that run in the target. Raises Failure of the target."""
    return load_destination(target).fence_and_find_commits(target, run, connections, stores)


def warm_up_spark() -> None:
    """Start Spark, so that the first run does not wait for it."""
    from executors.spark.session import warm_up

    warm_up()


def preview_node(job: NodePreviewJob, cancellation: Cancellation) -> NodePreview:
    """Evaluate some rows of one node as a run would, and write nothing. Raises `Failure`."""
    from executors.node_preview.preview import preview_node

    return preview_node(job, cancellation)


def spark_is_started() -> bool:
    """Return whether this process can use Spark without starting it first."""
    from executors.spark.session import is_started

    return is_started()


def spark_answers() -> bool:
    """Return whether Spark is started and responds. Blocks until Spark responds."""
    from executors.spark.session import answers

    return answers()


def report_commits(
    pipeline: Pipeline,
    commits: Sequence[LoadCommit],
    error: FlowError,
    *,
    runs_post_hooks: bool,
    restored: BackupRef | None,
) -> RunReport:
    """Build the report of a run that ended with `error` after all its targets committed, from their commit markers
    alone. `runs_post_hooks` says whether this kind of run has post-hooks; `restored` describes what a restore put back.
    """
    report = RunReport()
    for commit in commits:
        add_commit(report, commit)
    if runs_post_hooks:
        for hook in undone_hooks(pipeline, commits, f"Not run: {error.message}"):
            add_hook(report, hook)
    if restored:
        report.warnings += hooks_not_run(next(t for t in pipeline.targets() if t.id == restored.node))
    report.warnings.append(RunWarning(error.code, error.node, f"Loaded, but not finished cleanly: {error.message}"))
    return report


def rerun_hook(
    job: RunJob, target: Target, target_hook: TargetHook, counts: Mapping[str, int | None], interruption: Interruption
) -> HookReport:
    """Run one hook of a committed load again and record its success in the commit marker.

    The result reports a failure of the hook. Raises `Failure` if the marker cannot be written.
    """
    report, failure = run_hook(job, target, target_hook, counts, interruption)
    if failure is None:
        note_hook_done(job.connections[target.connection], job.run_id, target.id, target_hook.id)
    return report
