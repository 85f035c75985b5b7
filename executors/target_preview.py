"""What one load of one target would change: all of a load but its transaction."""

from __future__ import annotations

from dataclasses import replace

from executors import accounting
from executors.destination import table_to_look_at
from executors.effects import Effect
from executors.markers import (
    add_warnings,
    ahead_warnings,
    behind_warnings,
    check_warnings,
    known_warnings,
    older_warnings,
    put_share,
    warn_of_shares,
)
from executors.model import Destination, NodeReport, RunWarning, Share, StageColumn
from executors.postgres import staging
from executors.postgres.preview import count_effect, count_null_rates, refuse_repeats
from executors.rules import require_rule_columns
from executors.spark.columns import plan_columns
from executors.target_load import TargetLoad


class TargetPreview(TargetLoad):
    """Reads, judges and stages as the load does, then counts instead of loading. Staging is dropped again."""

    def preview(self) -> Effect:
        working = self._working = plan_columns(self._session, self._path, self._reading.fields)
        require_rule_columns(self._path.validates, [column.name for column in working])
        with table_to_look_at(self._conn, self._target, working, self._tables) as (dest, columns):
            self._step("probe")
            self._checks.probe(self._staged(dest, columns))
            staging.create_staging(self._conn, self._tables, columns)
            try:
                self._pass(columns)
                self._refuse(dest, columns)
                self._guard_rejected()
                self._check(dest, columns)
                return self._look(dest, columns)
            finally:
                self._report.checks += self._checked
                self._drop_staging()

    def _look(self, dest: Destination, columns: tuple[StageColumn, ...]) -> Effect:
        self._step("guard")
        self._guard_empty()
        self._step("effect")
        plan = self._load_plan(dest, columns)
        if self._target.on_type_mismatch == "abort":
            refuse_repeats(self._conn, plan)
        effect = count_effect(self._conn, plan)
        reasons = self._reasons_to_hold(effect, count_null_rates(self._conn, plan) if self._compares_nulls() else {})
        self._tell(effect, dest)
        table = f"{self._target.schema_}.{self._target.table}"
        held_for = tuple(reason.message for reason in reasons)
        return replace(effect, table=table, is_new_table=str(plan.target) != table, held_for=held_for)

    def _tell(self, effect: Effect, dest: Destination) -> None:
        """Fill the report as a load fills it from its marker."""
        nodes = accounting.node_reports(self._path, self._read, self._result)
        counts = {**self._node_counts(), **effect.node_fields(), "rows_staged": self._result.total("rows_staged")}
        target = NodeReport(self._target.id, "target", **counts)
        share = Share(self._reading.identities, [*nodes, target], self._rules)
        put_share(self._report, self._target.id, share)
        warn_of_shares(self._report)
        node, aside = self._target.id, self._window.aside
        warnings = [
            *check_warnings(self._checked),
            *older_warnings(node, effect.older),
            *known_warnings(node, aside.differing, aside.doubtful),
            *ahead_warnings(node, effect.ahead),
            *behind_warnings(node, aside.below_bound, self._reading.units),
        ]
        add_warnings(self._report, warnings)
        if dest.row_triggers:
            add_warnings(self._report, [_triggers(self._target.id)])


def _triggers(node: str) -> RunWarning:
    return RunWarning(
        "preview.row_triggers", node, "The table has row triggers; what they change or swallow cannot be told before."
    )
