"""From what is read for one target to its commit: plan, one pass, refusals, checks, guard, one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property

from executors import accounting
from executors.destination import ready_table
from executors.effects import Effect, NullRates
from executors.errors import ExpressionFailed, Failure, InvalidContent, LeaseLost, Terminal
from executors.holding import Evaluation, Held, Kept, Reason, judge
from executors.markers import add_kept, add_warnings, check_warnings, put_share, told_of, warn_of_shares
from executors.model import (
    CheckReport,
    Destination,
    LoadCommit,
    NodeReport,
    PassResult,
    RuleCount,
    RulePlan,
    RunJob,
    RunReport,
    Share,
    SourceField,
    StageColumn,
)
from executors.ports import Ports
from executors.postgres import quarantine, staging
from executors.postgres.checks import Staged
from executors.postgres.client import charset_of
from executors.postgres.ddl import Conn
from executors.postgres.explain import explain
from executors.postgres.load import LoadFile, LoadPlan, RunRef, commit_load
from executors.postgres.meta import marker_of
from executors.postgres.preview import count_effect, count_null_rates, evaluate_locked
from executors.postgres.refused import refuse_rows
from executors.postgres.trial import refuse_tried
from executors.reading import Reading
from executors.rejected_limit import files_rejected, too_many_rejected
from executors.rules import require_rule_columns
from executors.secrets import seal
from executors.spark.columns import compile_path
from executors.spark.compiled import Compiled
from executors.spark.one_pass import PassPlan, run_pass
from executors.spark.session import RunSession
from executors.target_checks import TargetChecks, stop_on_broken
from executors.target_hooks import TargetHooks
from executors.target_window import TargetWindow
from ir.load_modes import load_mode
from ir.pipeline import Path
from ir.rules import rule_id

_OF_LOADS = (
    "rows_inserted",
    "rows_updated",
    "rows_unchanged",
    "rows_replaced",
    "rows_behind_mark",
    "rows_suppressed",
)


class TargetLoad:
    """One load of one target. `run` returns the commit; until it has committed nothing of the target has changed."""

    def __init__(
        self,
        job: RunJob,
        ports: Ports,
        report: RunReport,
        session: RunSession,
        path: Path,
        conn: Conn,
        reading: Reading,
        hooks: TargetHooks,
    ) -> None:
        self._job, self._ports, self._report, self._session = job, ports, report, session
        self._path, self._conn, self._reading, self._hooks = path, conn, reading, hooks
        self._target = path.target
        self._ref = RunRef(job.run_id, job.tenant, job.pipeline.id, path.target.id, job.attempt, job.token)
        self._staged_in = job.attempt
        self._tables = staging.staging_tables(job.run_id, path.target.id, job.attempt)
        self._kept = quarantine_tables(path)
        self._read = reading.records or 0
        self._result = PassResult(())
        self._rules: list[RuleCount] = []
        self._checked: list[CheckReport] = []
        self._working: tuple[SourceField, ...] = ()
        self._is_held = False
        self._now = datetime.now(UTC)
        self._checks = TargetChecks(job, path, conn, self._now, hooks.interruption)
        self._window = TargetWindow(job, ports, conn, path)

    def run(self) -> LoadCommit:
        working = self._working = self._compiled.fields
        require_rule_columns(self._path.validates, [column.name for column in working])
        self._window.open()
        add_warnings(self._report, self._window.warnings())
        self._reading = self._window.narrow(self._reading)
        with ready_table(self._conn, self._target, working) as (dest, columns):
            self._probe(dest, columns)
            staging.create_staging(self._conn, self._tables, columns)
            try:
                self._pass(columns)
                self._refuse(dest, columns)
                self._guard_rejected()
                self._check(dest, columns)
                commit = self._commit(dest, columns)
            except (LeaseLost, Held):
                raise
            except Failure:
                self._report.checks += self._checked
                self._keep_rejects()
                raise
            finally:
                if not self._is_held:
                    self._drop_staging()
            return commit

    @cached_property
    def _compiled(self) -> Compiled:
        return compile_path(self._session, self._path, self._reading.fields)

    def _step(self, name: str) -> None:
        self._ports.cancellation.check()
        self._ports.events.step(name, self._target.id)

    def _probe(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        """What would only be found out after the pass is found out before it."""
        self._step("probe")
        for table in dict.fromkeys(self._kept.values()):
            quarantine.probe_quarantine(self._conn, table)
        self._checks.probe(self._staged(dest, columns))

    # --- the pass ---------------------------------------------------------------------------------------------

    def _pass(self, columns: tuple[StageColumn, ...]) -> None:
        self._step("pass")
        plan = PassPlan(
            path=self._path,
            reading=self._reading,
            compiled=self._compiled,
            stage_columns=columns,
            rules=tuple(RulePlan(v.id, rule_id(rule), rule) for v in self._path.validates for rule in v.row_level),
            on_type_mismatch=self._target.on_type_mismatch,
            tables=self._tables,
            sealed_connection=seal(self._job.connections[self._target.connection]),
            run_id=self._job.run_id,
            charset=charset_of(self._conn),
            now=self._now,
        )
        try:
            self._result = run_pass(self._session, plan)
        except ExpressionFailed as failure:
            if failure.kept is not None:
                self._count_failing(failure.kept)
            raise
        self._reading.release()
        self._read = accounting.require_all_arrived(self._path, self._reading, self._result)
        self._count_rules()

    def _refuse(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        """Take out the staged rows that are behind the mark; then those that the table itself would refuse, which count
        like those of one more task."""
        if window := self._window.open(dest):
            self._step("mark")
            self._window.set_aside(self._load_plan(dest, columns), window)
        self._step("refuse")
        refused = refuse_rows(self._conn, self._load_plan(dest, columns), self._target.on_type_mismatch)
        if refused is not None:
            self._result = PassResult((*self._result.tasks, refused))
            self._count_rules()

    def _count_failing(self, kept: PassResult) -> None:
        """The row that an expression failed for is counted as it is kept; rules that have not judged all rows have no
        number."""
        self._result, self._rules = kept, [rule for task in kept.tasks for rule in task.rules]
        self._share_rules()

    def _count_rules(self) -> None:
        self._rules = self._counted_rules()
        self._share_rules()
        fails = self._is_all_rejected() and self._limits_rejected()
        if fails and (clues := self._reading.find_clues(self._reading.origins)):
            raise self._too_many_rejected(clues)
        accounting.stop_on_abort(self._path, self._rules, {origin.seq: origin.name for origin in self._reading.origins})

    def _share_rules(self) -> None:
        put_share(self._report, self._target.id, Share(self._reading.identities, rules=self._rules))

    def _counted_rules(self) -> list[RuleCount]:
        found = [rule for task in self._result.tasks for rule in task.rules]
        return accounting.merge_rules(accounting.planned_rules(self._path), found)

    # --- what staging says ------------------------------------------------------------------------------------

    def _check(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        """Run the dataset checks on the staged rows."""
        self._step("check")
        self._checked = self._checks.run(self._staged(dest, columns))
        stop_on_broken(self._checked)

    def _staged(self, dest: Destination, columns: tuple[StageColumn, ...]) -> Staged:
        return self._checks.look_at(self._tables, self._working, dest, columns, self._result.winners)

    # --- the load ---------------------------------------------------------------------------------------------

    def _commit(self, dest: Destination, columns: tuple[StageColumn, ...]) -> LoadCommit:
        self._admit(dest, columns)
        self._hooks.before_load(self._node_counts())
        self._ready_quarantine()
        self._step("load")
        skips = self._target.on_type_mismatch != "abort"
        try:
            commit_load(self._conn, self._load_plan(dest, columns), explains=not skips)
        except Terminal as failure:
            if not skips:
                raise
            if not self._refuse_tried(dest, columns, failure):
                explain(self._conn, self._load_plan(dest, columns), failure)
                raise
            self._check(dest, columns)
            self._admit(dest, columns)
            self._ready_quarantine()
            self._step("load")
            commit_load(self._conn, self._load_plan(dest, columns))
        return marker_of(self._conn, self._ref)

    def _ready_quarantine(self) -> None:
        """Make the quarantine tables that this load has rows for."""
        nodes = {rule.node for rule in self._rules if rule.violations}
        for table in dict.fromkeys(table for node, table in self._kept.items() if node in nodes):
            quarantine.ensure_quarantine(self._conn, table)

    def _admit(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        self._step("guard")
        self._guard_empty()
        self._hold(dest, columns)

    def _refuse_tried(self, dest: Destination, columns: tuple[StageColumn, ...], failure: Terminal) -> bool:
        """Take out the rows by which a load has failed; False if it was not for any of them."""
        self._step("refuse")
        refused = refuse_tried(self._conn, self._load_plan(dest, columns), failure)
        if refused is None:
            return False
        self._result = PassResult((*self._result.tasks, refused))
        self._count_rules()
        self._guard_rejected()
        return True

    def _hold(self, dest: Destination, columns: tuple[StageColumn, ...]) -> None:
        """Stop a load that goes beyond the target's limits, before anything else knows of it: a person decides."""
        if self._target.hold is None:
            return
        self._step("hold")
        plan = self._load_plan(dest, columns)
        rates = count_null_rates(self._conn, plan) if self._compares_nulls() else {}
        self._hold_if(plan, count_effect(self._conn, plan), rates)

    def _compares_nulls(self) -> bool:
        return self._target.hold is not None and self._target.hold.max_null_rate_increase_pct is not None

    def _hold_again(self, plan: LoadPlan) -> None:
        """The table may have changed until the load has locked it, as while a pre-hook ran."""
        self._hold_if(plan, *evaluate_locked(self._conn, plan, compares_nulls=self._compares_nulls()))

    def _is_evaluated_again(self) -> bool:
        """A mode that replaces all rows holds writers off in any case; for others it is not worth that."""
        return self._target.hold is not None and load_mode(self._target.load_mode).replaces_all_rows

    def _hold_if(self, plan: LoadPlan, effect: Effect, null_rates: Mapping[str, NullRates]) -> None:
        reasons = self._reasons_to_hold(effect, null_rates)
        if held_for := self._not_approved(reasons, effect):
            self._is_held = True
            self._tell_staged()
            raise Held(self._target.id, held_for, effect, self._to_keep(plan.columns, Evaluation.of(reasons, effect)))

    def _reasons_to_hold(self, effect: Effect, null_rates: Mapping[str, NullRates]) -> list[Reason]:
        limits = self._target.hold
        return judge(limits, effect, null_rates) if limits else []

    def _not_approved(self, reasons: list[Reason], effect: Effect) -> list[Reason]:
        """Of the reasons to hold a load, those that no person has approved."""
        return reasons

    def _tell_staged(self) -> None:
        """What is known of a load that has not happened."""
        nodes = accounting.node_reports(self._path, self._read, self._result)
        put_share(self._report, self._target.id, Share(self._reading.identities, nodes, self._rules))
        warn_of_shares(self._report)
        self._report.checks += self._checked
        add_warnings(self._report, check_warnings(self._checked))

    def _to_keep(self, columns: Sequence[StageColumn], evaluation: Evaluation) -> Kept:
        return Kept(
            attempt=self._staged_in,
            working=self._working,
            columns=tuple(columns),
            origins=tuple((origin.seq, origin.name, origin.sha256) for origin in self._reading.origins),
            units=self._reading.units,
            records=self._read,
            result=self._result,
            checks=tuple(self._checked),
            aside=self._window.aside,
            evaluation=evaluation,
            mark=self._window.mark_now(),
        )

    def _guard_rejected(self) -> None:
        """Stop a load that rejects too much: by default one that would load none of the rows that came."""
        limit, rejected, rows = self._limits_rejected(), self._result.total("rows_rejected"), self._unfiltered()
        if limit and rejected and 100 * rejected >= limit * rows:
            raise self._too_many_rejected(())
        if limit and rejected and len(self._reading.origins) > 1:
            self._guard_files()

    def _guard_files(self) -> None:
        """Stop a load with a file that the source's settings do not fit, so that every row of it was rejected: with the
        other files it would count as loaded."""
        rejected = staging.count_rejected_by_file(self._conn, self._tables, self._result.winners)
        lost = [o for o in self._reading.origins if o.records and rejected.get(o.seq) == o.records]
        if lost and (clues := self._reading.find_clues(lost)):
            self._tell_rejected()
            raise files_rejected(self._target, [(o.name, o.records or 0) for o in lost], clues)

    def _limits_rejected(self) -> float:
        """From which percentage of rejected rows on the load fails; 0 for never."""
        return self._target.fail_at_rejected_pct

    def _unfiltered(self) -> int:
        return self._read - self._filtered()

    def _is_all_rejected(self) -> bool:
        return 0 < self._result.total("rows_rejected") == self._unfiltered()

    def _too_many_rejected(self, clues: Sequence[str]) -> Terminal:
        """Which is no verdict on the file: its source may be set up wrongly, so it stays where it is."""
        self._tell_rejected()
        return too_many_rejected(
            self._target, self._unfiltered(), self._result.total("rows_rejected"), self._rules, clues
        )

    def _tell_rejected(self) -> None:
        """The numbers of a load that stops here; of the target where they are all that it has."""
        nodes = accounting.node_reports(self._path, self._read, self._result)
        if self._is_all_rejected():
            none = dict.fromkeys(("rows_staged", "rows_loaded", *_OF_LOADS), 0)
            nodes.append(NodeReport(self._target.id, "target", **{**none, **self._node_counts()}))
        put_share(self._report, self._target.id, Share(self._reading.identities, nodes, self._rules))

    def _guard_empty(self) -> None:
        """Rows are counted as the tasks reported them: a staging that lost its rows is not an empty source."""
        staged = self._result.total("rows_staged")
        if staged or not load_mode(self._target.load_mode).replaces_all_rows or not self._target.fail_on_empty_source:
            return
        raise InvalidContent(
            "source.empty",
            f"No row is left to replace {self._target.schema_}.{self._target.table} with: {self._read:,} read, "
            f"{self._filtered():,} filtered, {self._result.total('rows_rejected'):,} rejected. The table is as it was.",
            node=self._target.id,
            hint="If an empty source may clear the table, set failOnEmptySource to false on this target.",
        )

    def _load_plan(self, dest: Destination, columns: tuple[StageColumn, ...]) -> LoadPlan:
        shown = charset_of(self._conn).shown
        return LoadPlan(
            run=self._ref,
            dest=dest,
            columns=columns,
            tables=self._tables,
            winners=self._result.winners,
            staged=self._result.total("rows_staged") - self._window.aside.rows,
            rejected=self._result.total("rows_rejected"),
            load_mode=self._target.load_mode,
            upsert_key=self._target.upsert_key or (),
            window=self._window.found,
            aside=self._window.aside,
            backs_up=self._target.backup_before_load,
            order_by=self._order_by(),
            keeps_order=self._reading.keeps_order,
            files=[
                LoadFile(origin.seq, shown(origin.name), origin.sha256, origin.is_unit)
                for origin in self._reading.origins
            ],
            quarantine=self._kept,
            node_counts=self._node_counts(),
            told=told_of(
                accounting.node_reports(self._path, self._read, self._result),
                self._rules,
                self._checked,
                self._kept.values(),
                self._reading.fields,
            ),
            before_swap=lambda: self._hooks.before_swap(self._node_counts()),
            before_change=self._hold_again if self._is_evaluated_again() else lambda plan: None,
            settings=self._hooks.settings(),
            hooks_ran=self._hooks.ran_before,
        )

    def _order_by(self) -> str | None:
        """What tells which of two rows with one key is the newer; without keys nothing asks for it."""
        has_keys = load_mode(self._target.load_mode).needs_key
        return (self._target.order_by or self._target.watermark_column) if has_keys else None

    def _filtered(self) -> int:
        return self._result.at_nodes("filtered_at").total()

    def _node_counts(self) -> dict[str, int]:
        rejected_here = self._result.at_nodes("dropped_at")[self._target.id]
        return {
            "rows_in": self._result.total("rows_staged") + rejected_here,
            "rows_read": self._read,
            "rows_filtered": self._filtered(),
            "rows_rejected": self._result.total("rows_rejected"),
            "rows_rejected_here": rejected_here,
            "rows_warned": self._result.total("rows_warned"),
        }

    def _keep_rejects(self) -> None:
        """The rejected rows of a load that failed, in a transaction of their own; why it failed stays the error."""
        try:
            self._ready_quarantine()
            kept = quarantine.keep_rejects(self._conn, self._ref, self._tables, self._result.winners, self._kept)
        except LeaseLost:
            raise
        except Failure as trouble:
            if not any(rule.violations for rule in self._rules):
                return
            self._ports.events.alert(
                "quarantine.unwritable",
                "error",
                f"The rows that a failed load rejected were not kept: {trouble.message}",
                "Correct the target's connection, then run the pipeline again.",
                self._target.id,
            )
        else:
            add_kept(self._report, *kept, self._kept.values())

    def _drop_staging(self) -> None:
        try:
            staging.drop_staging(self._conn, self._tables)
        except Failure as trouble:
            self._ports.events.log("warning", f"Staging is left for the next sweep: {trouble.message}", self._target.id)


def quarantine_tables(path: Path) -> dict[str, str]:
    """Which table keeps the rows that a node rejects: a validate node its own, all other nodes the last one's."""
    kept = {v.id: v.quarantine.table for v in path.validates if v.quarantine and v.quarantine.enabled}
    if kept:
        last = list(kept.values())[-1]
        for node in (path.source, *path.transforms, path.target):
            kept[node.id] = last
    return {node: table for node, table in kept.items() if table is not None}
