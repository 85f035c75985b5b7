"""The hooks of one target in one attempt: when they run, their results, and hooks that a crash interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from executors.commit_report import add_hook
from executors.errors import Cancelled, Failure, Terminal, Transient
from executors.hooks import HANDLERS
from executors.hooks.base import HookCall, Interruption
from executors.load_record import LoadCommit
from executors.model import RunJob
from executors.ports import Ports
from executors.postgres.table_lock import LOCK_TIMEOUT
from executors.report import HookReport, RunReport
from executors.runs.names import POST_HOOKS, PRE_HOOKS
from ir.hooks.base import Stage, TargetHook
from ir.hooks.sql import SqlHook
from ir.nodes import Target
from ir.pipeline import Pipeline
from ir.words import duration_text

STAGE_WORDS: dict[Stage, str] = {"preHook": "pre-hook", "preSwap": "hook before the swap", "postHook": "post-hook"}
EVENTS: dict[Stage, str] = {"preHook": "load.starting", "preSwap": "load.swapping", "postHook": "load.committed"}
"""The event name that a hook's receiver gets, by stage."""


class TargetHooks:
    """Runs the hooks of a target in the order of the document. After a failed hook, the others do not run."""

    def __init__(self, job: RunJob, ports: Ports, report: RunReport, target: Target) -> None:
        self._job, self._ports, self._report, self._target = job, ports, report, target
        self._interruption = Interruption()

    @property
    def interruption(self) -> Interruption:
        """For sessions other than the session of the load."""
        return self._interruption

    def interrupt(self) -> None:
        """Cancel the current hook or session, from another thread."""
        self._interruption.interrupt()

    def settings(self) -> dict[str, str]:
        """Return the settings that pre-hooks make in the transaction of the load."""
        hooks = [target_hook.hook for target_hook in self._at("preHook")]
        return dict(hook.setting for hook in hooks if isinstance(hook, SqlHook) and hook.setting)

    def before_load(self, counts: Mapping[str, int | None]) -> None:
        """Run the pre-hooks. Raises Failure at the first one that fails; the target is then unchanged."""
        self._run_or_raise("preHook", counts)

    def before_swap(self, counts: Mapping[str, int | None]) -> None:
        """Run the hooks before the swap. Raises Failure at the first one that fails; the old table is then
        unchanged."""
        self._run_or_raise("preSwap", counts)

    def ran_before(self) -> list[HookReport]:
        """Return the hooks of this target that have run so far, for the commit marker."""
        return [hook for hook in self._report.hooks if hook.node == self._target.id]

    def after_load(self, commit: LoadCommit, note_done: Callable[[str], None]) -> None:
        """Run the post-hooks that the marker does not record as done. `note_done` records there that one is done. The
        load is committed and stays, also if a hook fails."""
        stopped, done = "", list(commit.hooks_done)
        for target_hook in self._at("postHook"):
            if target_hook.id in done:
                self._add(target_hook, "succeeded", "An earlier attempt of this run ran it.")
            elif stopped:
                self._add(target_hook, "not_run", stopped)
            elif (failure := self._try(target_hook, commit.node_counts)) is None:
                note_done(target_hook.id)
                done.append(target_hook.id)
                self._ports.events.committed(replace(commit, hooks_done=tuple(done)))
            else:
                stopped = f"Not run, because {target_hook.id} failed."
                self._alert(target_hook, failure)

    def _at(self, stage: Stage) -> list[TargetHook]:
        return [target_hook for target_hook in self._target.hooks() if target_hook.stage == stage]

    # --- before the load has committed ------------------------------------------------------------------------

    def _run_or_raise(self, stage: Stage, counts: Mapping[str, int | None]) -> None:
        target_hooks = self._at(stage)
        if target_hooks:
            self._ports.cancellation.check()
            self._ports.events.step(PRE_HOOKS.name, self._target.id)
        for hook in target_hooks:
            if failure := self._run(hook, counts):
                # An interrupted hook raises its own error, which must not be reported as the hook's failure.
                self._ports.cancellation.check()
                raise _stopping(hook, failure) from failure

    # --- after it ---------------------------------------------------------------------------------------------

    def _try(self, target_hook: TargetHook, counts: Mapping[str, int | None]) -> Failure | None:
        """Run a post-hook and return its failure. A cancellation or time-out ends the remaining hooks; a lost lease
        ends the attempt."""
        try:
            self._ports.cancellation.check()
            self._ports.events.step(POST_HOOKS.name, self._target.id)
            failure = self._run(target_hook, counts)
            if failure is not None:
                self._ports.cancellation.check()
        except Cancelled as cancelled:
            self._add(target_hook, "failed", cancelled.message)
            return cancelled
        return failure

    def _alert(self, target_hook: TargetHook, failure: Failure) -> None:
        self._ports.events.alert(
            "hook.failed",
            "error",
            f"Loaded, but the post-hook {target_hook.id} ({target_hook.hook.type}) failed: {failure.message}",
            f"{failure.hint} Then rerun the hook on the run page.".strip(),
            self._target.id,
        )

    # --- one hook ---------------------------------------------------------------------------------------------

    def _run(self, target_hook: TargetHook, counts: Mapping[str, int | None]) -> Failure | None:
        report, failure = run_hook(self._job, self._target, target_hook, counts, self._interruption)
        add_hook(self._report, report)
        state = f"{report.state} after {duration_text(report.duration_ms / 1000)}"
        line = f"Hook {target_hook.id}: {report.statement}: {state}."
        self._ports.events.log("info" if failure is None else "error", line, self._target.id)
        return failure

    def _add(self, target_hook: TargetHook, state: str, message: str) -> None:
        add_hook(self._report, _report(self._target, target_hook, state, message))


def run_hook(
    job: RunJob, target: Target, target_hook: TargetHook, counts: Mapping[str, int | None], interruption: Interruption
) -> tuple[HookReport, Failure | None]:
    """Run one hook and return its report. A failure is returned, not raised."""
    call = hook_call(job, target, target_hook, counts, interruption)
    state, message, failure = "succeeded", "", None
    started = time.monotonic()
    try:
        message = HANDLERS[target_hook.hook.type].run(call)
    except Failure as error:
        state, message, failure = "failed", f"{error.message} [{error.code}] {error.hint}".strip(), error
    report = _report(target, target_hook, state, message)
    return replace(report, duration_ms=int((time.monotonic() - started) * 1000)), failure


def undone_hooks(pipeline: Pipeline, commits: Sequence[LoadCommit], message: str) -> Iterator[HookReport]:
    """Return reports for the post-hooks of committed loads that the markers do not record as done."""
    by_node = {commit.node: commit for commit in commits}
    for target in pipeline.targets():
        for target_hook in target.hooks() if target.id in by_node else ():
            if target_hook.stage == "postHook" and target_hook.id not in by_node[target.id].hooks_done:
                yield _report(target, target_hook, "not_run", message)


def _report(target: Target, target_hook: TargetHook, state: str, message: str) -> HookReport:
    kind = target_hook.hook.type
    return HookReport(
        target_hook.id, target.id, kind, target_hook.stage, state, HANDLERS[kind].statement(target_hook.hook), message
    )


def hook_call(
    job: RunJob, target: Target, target_hook: TargetHook, counts: Mapping[str, int | None], interruption: Interruption
) -> HookCall:
    facts: dict[str, Any] = {
        "event": EVENTS[target_hook.stage],
        "run": job.run_id,
        "pipeline": job.pipeline.id,
        "version": job.version,
        "node": target.id,
        "hook": target_hook.id,
        "schema": target.schema_,
        "table": target.table,
        "loadMode": target.load_mode,
        "counts": {_api_name(name): count for name, count in counts.items() if count is not None},
    }
    return HookCall(
        hook=target_hook.hook,
        key=f"{job.run_id}.{target_hook.id}",
        facts=facts,
        schema=target.schema_,
        connection=job.connections[target.connection],
        webhooks=job.webhooks,
        interruption=interruption,
        patience=LOCK_TIMEOUT if target_hook.stage == "preSwap" else "0",
    )


def _api_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def _stopping(target_hook: TargetHook, failure: Failure) -> Failure:
    kind = Transient if isinstance(failure, Transient) else Terminal
    what = f"The {STAGE_WORDS[target_hook.stage]} {target_hook.id} ({target_hook.hook.type})"
    return kind(
        "hook.failed",
        f"{what} failed: {failure.message} The target was not loaded.",
        hint=failure.hint,
        node=target_hook.id.split(".")[0],
    )
