"""The engine's ports, which write to the control database. A worker that lost its lease writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from django.db import transaction

from executors.api import LoadCommit, Ports, may_commit
from executors.model import NewestFile, SourceFile
from executors.report import NodeReport
from flowapp.alerts.services import raise_alert
from flowapp.clock import Now
from flowapp.logs import redact
from flowapp.runs.leases import Claim, LeaseRenewer
from flowapp.runs.load_units import services as load_units
from flowapp.runs.load_units.selectors import failed_names, newest_loaded
from flowapp.runs.models import CommitRecord, Run, RunLog
from flowapp.runs.reports import save_commit, save_node
from flowapp.runs.timeline import Timeline
from flowapp.uploads.selectors import uploaded_whole

LOG_LINES = 1000
LOG_LENGTH = 2000
Level = Literal["info", "warning", "error"]


def make_ports(claim: Claim, run: Run, renewer: LeaseRenewer, events: DatabaseEvents) -> Ports:
    """Build the ports of one attempt."""
    return Ports(
        events=events,
        units=DatabaseUnits(claim, run),
        cancellation=renewer,
        last_commit=lambda node: last_commit(run, node),
    )


def last_commit(run: Run, node: str) -> str | None:
    """Return the run of the newest known load into this target, unless a user has discarded that load."""
    known = CommitRecord.objects.filter(pipeline_id=run.pipeline_id, node=node, forgotten_at=None)
    found = known.order_by("-committed_at", "-id").values_list("run_id", flat=True).first()
    return str(found) if found else None


@contextmanager
def _guarded(claim: Claim) -> Iterator[None]:
    """Open a transaction that holds the claim. Raises LeaseLost."""
    with transaction.atomic():
        claim.guard()
        yield


class DatabaseEvents:
    """The engine's `Events`."""

    def __init__(self, claim: Claim, run: Run) -> None:
        self._claim, self._run = claim, run
        self._lines = 0
        self._positions: dict[str, int] = {}
        self._timeline = Timeline(run.timeline, claim.attempt)

    @property
    def claim(self) -> Claim:
        return self._claim

    def step(self, name: str, node: str | None = None) -> None:
        """Record a step before it begins, so that a possible commit is known even if this process dies during the
        step."""
        self._timeline.enter(name, node or "")
        changes: dict[str, object] = {"step": name[:40], "timeline": self._timeline.to_json()}
        if may_commit(name):
            changes["may_have_committed"] = True
        if not self._claim.held().update(**changes):
            raise self._claim.lost()

    def step_note(self, name: str, note: str) -> None:
        """Describe the current step. It is stored with the next step."""
        self._timeline.describe(name, redact(note))

    def step_rows(self, name: str, rows: int) -> None:
        """Count the rows of the current step. They are stored with the next step, which begins at once."""
        self._timeline.count(name, rows)

    def close(self) -> None:
        """Close the last step of the attempt. Without the claim, nothing is stored."""
        self._timeline.close()
        self._claim.held().update(timeline=self._timeline.to_json())

    def node_finished(self, report: NodeReport) -> None:
        with _guarded(self._claim):
            save_node(self._run, report, self._positions.setdefault(report.id, len(self._positions)))

    def committed(self, commit: LoadCommit) -> None:
        with _guarded(self._claim):
            save_commit(self._run, commit)

    def log(self, level: Level, message: str, node: str | None = None) -> None:
        if self._lines > LOG_LINES:
            return
        self._lines += 1
        if self._lines > LOG_LINES:
            level, message, node = "warning", "Further lines are omitted.", None
        with _guarded(self._claim):
            RunLog.objects.create(
                workspace_id=self._run.workspace_id,
                run=self._run,
                attempt=self._claim.attempt,
                at=Now(),
                level=level,
                node=node or "",
                message=redact(message)[:LOG_LENGTH],
            )

    def alert(
        self, kind: str, severity: Literal["warning", "error"], message: str, next_step: str, node: str | None = None
    ) -> None:
        with _guarded(self._claim):
            raise_alert(kind, severity, message, next_step, pipeline=self._run.pipeline, run=self._run, node=node or "")


class DatabaseUnits:
    """The engine's `LoadUnits`."""

    def __init__(self, claim: Claim, run: Run) -> None:
        self._claim, self._run = claim, run

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        return load_units.forgotten(self._run.pipeline, hashes)

    def states_forgotten(self) -> int | None:
        return load_units.all_forgotten(self._run.pipeline)

    def known_hashes(self, fingerprints: Iterable[str]) -> Mapping[str, str]:
        return load_units.known_hashes(self._run.pipeline_id, fingerprints)

    def claim(self, node: str, files_by_hash: Mapping[str, SourceFile]) -> None:
        with _guarded(self._claim):
            load_units.claim_units(self._run, node, files_by_hash, self._claim.attempt)

    def finish(self, hashes: Iterable[str]) -> None:
        with _guarded(self._claim):
            load_units.finish_units(self._run, hashes)

    def undo(self, hashes: Iterable[str], reason: str) -> None:
        with _guarded(self._claim):
            load_units.undo_units(self._run, hashes, reason)

    def mark_deleted(self, hashes: Iterable[str], reason: str) -> None:
        with _guarded(self._claim):
            load_units.mark_deleted(self._run, hashes, reason)

    def fail(self, node: str, files_by_hash: Mapping[str, SourceFile], reason: str) -> None:
        with _guarded(self._claim):
            load_units.fail_units(self._run, node, files_by_hash, redact(reason))

    def failed(self, node: str) -> Collection[str]:
        return failed_names(self._run.pipeline_id, node)

    def arrived_whole(self, files_listed: Sequence[SourceFile]) -> Collection[str]:
        return uploaded_whole(self._run.workspace, files_listed)

    def newest_loaded(self, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]) -> NewestFile | None:
        return newest_loaded(self._run.pipeline_id, node, by, without)

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None:
        with _guarded(self._claim):
            load_units.skip_unit(self._run, node, file, sha256, reason)
