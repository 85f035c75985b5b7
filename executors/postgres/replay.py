"""The additions of a replay to its load's transaction: rejected rows are loaded, each once, or nothing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from executors.errors import Transient
from executors.load_record import LoadCounts
from executors.postgres.boundary_rows import note_known
from executors.postgres.ddl import Conn
from executors.postgres.effects import LONGEST_VALUE
from executors.postgres.incremental_range import IncrementalRange, require_unmoved
from executors.postgres.key_match import comparable, differs, is_newer, own_rows, same_key, value_columns
from executors.postgres.load_plan import LoadPlan, RejectCounts, staged_value, winning_rows
from executors.postgres.may_replace import is_in
from executors.postgres.quarantine import write_rejects
from executors.postgres.quarantined import Change, Owner, change_rows
from executors.postgres.read_later import READ
from executors.postgres.refusals import Refusal
from executors.postgres.replay_results import write_results
from executors.postgres.staging import StagingTables, is_winner
from executors.postgres.superseding import supersede_rows
from executors.postgres.unique_keys import find_unique_key
from executors.rejected_rows import RejectedRow, RowOutcome, RowPosition, RowResult, StandIns
from executors.stage_plan import FILE, RECORD
from executors.table_name import TableName
from ir.words import counted

TAKEN = "exists:key"
"""The rule of a row whose key exists in the table and that may not replace the existing row."""
NEWER = "exists:newer"
"""The rule of a row that is older than the existing row, which it can never replace."""
_NOT_LOADED: Mapping[tuple[str, ...], str] = {(TAKEN,): "exists", (NEWER,): "older", (READ,): "read_again"}
OUTCOMES = ("loaded", "filtered", "fails", *_NOT_LOADED.values())
"""The results of rows that a replay has read."""

MOST_CONFLICTS = 500
"""The maximum number of rows shown with the existing rows that they would replace."""
MOST_COLUMNS = 100


def evaluate_rows(conn: Conn, plan: LoadPlan, positions: Iterable[RowPosition]) -> dict[RowPosition, RowOutcome]:
    """Return the result of every row that was read, from staging: `loaded`, `filtered`, `fails`, or one of
    `_NOT_LOADED`."""
    good = set(
        conn.execute(
            sql.SQL("SELECT s.{}, s.{} FROM {} AS s").format(
                sql.Identifier(FILE), sql.Identifier(RECORD), winning_rows(plan)
            )
        ).fetchall()
    )
    return outcomes_of(conn, plan.tables, plan.winners, positions, good)


def outcomes_of(
    conn: Conn,
    tables: StagingTables,
    winners: Sequence[int],
    positions: Iterable[RowPosition],
    good: Collection[RowPosition],
) -> dict[RowPosition, RowOutcome]:
    """Return the result of every row, of which those at `good` positions can be loaded."""
    query = sql.SQL(
        "SELECT r.file, r.record, array_agg(DISTINCT r.rule_id ORDER BY r.rule_id) FROM {} AS r"
        " WHERE {} AND r.disposition = 'dropped' AND r.severity <> 'warn' GROUP BY 1, 2"
    ).format(tables.rejects_identifier, is_winner(winners, "r"))
    bad = {(file, record): tuple(rules) for file, record, rules in conn.execute(query).fetchall()}
    return {position: _outcome(position, good, bad) for position in positions}


def _outcome(
    position: RowPosition, good: Collection[RowPosition], bad: Mapping[RowPosition, tuple[str, ...]]
) -> RowOutcome:
    if position in good:
        return RowOutcome("loaded")
    if rules := bad.get(position):
        return RowOutcome(_NOT_LOADED.get(rules, "fails"), rules)
    return RowOutcome("filtered")


def taken_keys(conn: Conn, plan: LoadPlan, allowed: Collection[RowPosition]) -> list[Refusal]:
    """Return refusals of staged rows whose key exists in the table with other values: those that are older than the
    existing row, and those that may not replace it."""
    key, newer = find_unique_key(conn, plan.target, plan.upsert_key), is_newer(plan)

    def refusal_of(rule: str, why: str, position: sql.Composable, staged: sql.Composable) -> Refusal:
        """`position` is a condition on the row `x` of the table, `staged` a condition on the staged row."""
        kind, _, name = rule.partition(":")
        condition = sql.SQL("EXISTS (SELECT FROM {} AS x WHERE {} AND {} AND {}) AND {}").format(
            own_rows(plan),
            same_key(plan, key),
            differs(plan, key, "x", lambda c: staged_value(plan, c)),
            position,
            staged,
        )
        return Refusal(kind, name, ", ".join(plan.upsert_key), f"already exists in the table, {why}", condition)

    ticked = is_in(allowed)
    return [
        refusal_of(NEWER, f"with a higher {plan.order_by}", newer, sql.SQL("true")),
        refusal_of(TAKEN, "with other values", sql.SQL("NOT {}").format(newer), sql.SQL("NOT {}").format(ticked)),
    ]


def read_conflicts(conn: Conn, plan: LoadPlan) -> dict[RowPosition, dict[str, Any]]:
    """Return for the first rows whose key exists: the key, and the existing and the new value of each column that
    differs."""
    key = find_unique_key(conn, plan.target, plan.upsert_key)
    columns = value_columns(plan, key)[:MOST_COLUMNS]
    shown: list[sql.Composed] = [_shown(staged_value(plan, plan.stage_column(c.name))) for c in key.columns]
    for column in columns:
        existing, incoming = sql.Identifier("x", column.name), staged_value(plan, column)
        differ = sql.SQL("{} IS DISTINCT FROM {}").format(
            comparable(plan, column, existing), comparable(plan, column, incoming)
        )
        shown += [differ, _shown(existing), _shown(incoming)]
    query = sql.SQL("SELECT s.{}, s.{}, {} FROM {} AS s JOIN {} AS x ON {} AND {} ORDER BY 1, 2 LIMIT {}").format(
        sql.Identifier(FILE),
        sql.Identifier(RECORD),
        sql.SQL(", ").join(shown),
        winning_rows(plan),
        own_rows(plan),
        same_key(plan, key),
        differs(plan, key, "x", lambda c: staged_value(plan, c)),
        sql.Literal(MOST_CONFLICTS),
    )
    names, found = [c.name for c in key.columns], {}
    for file, record, *values in conn.execute(query).fetchall():
        rest = values[len(names) :]
        changes = {c.name: rest[3 * i + 1 : 3 * i + 3] for i, c in enumerate(columns) if rest[3 * i]}
        found[file, record] = {"key": dict(zip(names, values, strict=False)), "changes": changes}
    return found


def _shown(value: sql.Composable) -> sql.Composed:
    return sql.SQL("left(({})::text, {})").format(value, sql.Literal(LONGEST_VALUE))


@dataclass(frozen=True, slots=True)
class ReplayCommit:
    """The `after_load` of a replay's load plan. `excluded` are chosen rows that could not be read; `by` is the user who
    requested the replay. `rows_range` is the range of an incremental target: the watermark does not move, and the
    loaded rows are added to its known rows. `repeats` are rows that other rows represent."""

    owner: Owner
    rows: Mapping[RowPosition, RejectedRow]
    tables: tuple[TableName, ...]
    excluded: Sequence[RowResult]
    by: str = ""
    reason: str = ""
    rows_range: IncrementalRange | None = None
    repeats: Sequence[tuple[RejectedRow, StandIns]] = ()

    def __call__(self, conn: Conn, plan: LoadPlan, counts: LoadCounts) -> RejectCounts:
        """Record the results. Raises Transient, so that nothing is loaded, if a row has changed since it was read."""
        outcomes = evaluate_rows(conn, plan, self.rows)
        self._claim(conn, plan, [self.rows[position] for position, v in outcomes.items() if v.result == "loaded"])
        self._note(conn, plan, outcomes)
        loaded = {self.rows[position].name for position, outcome in outcomes.items() if outcome.result == "loaded"}
        close_repeats(conn, self.owner, plan.run.run_id, self.tables, self.repeats, loaded)
        if self.rows_range is not None:
            require_unmoved(conn, self.rows_range)
            note_known(conn, plan, self.rows_range)
        write_rejects(conn, plan.run, plan.tables, plan.winners, plan.quarantine, only_loaded=True)
        evaluated = [RowResult.of(self.rows[position], v.result, v.rules) for position, v in outcomes.items()]
        results = [*evaluated, *self.excluded]
        write_results(conn, plan.run, results)
        rows, entries = count_rejects(conn, plan.tables, plan.winners)
        return RejectCounts(rows, entries, Counter(one.result for one in results))

    def _claim(self, conn: Conn, plan: LoadPlan, rows: list[RejectedRow]) -> None:
        run = sql.Literal(plan.run.run_id)
        sets = {
            "status": sql.SQL("'replayed'"),
            "replayRun": run,
            "replayResult": sql.SQL("'loaded'"),
            "replayRules": sql.SQL("NULL"),
            "decidedBy": sql.Literal(self.by or None),
            "decidedAt": sql.SQL("now()"),
            "reason": sql.Literal(self.reason or None),
        }
        change = Change(("open", "fixed"), sets, only_dropped=True)
        claimed = change_rows(conn, self.owner, self.tables, rows, change)
        require_all_claimed(rows, claimed, plan.run.node)

    def _note(self, conn: Conn, plan: LoadPlan, outcomes: Mapping[RowPosition, RowOutcome]) -> None:
        """Record the results of the rows that were not loaded."""
        by_outcome: dict[RowOutcome, list[RejectedRow]] = {}
        for position, outcome in outcomes.items():
            if outcome.result != "loaded":
                by_outcome.setdefault(outcome, []).append(self.rows[position])
        for outcome, rows in by_outcome.items():
            sets = {
                "replayRun": sql.Literal(plan.run.run_id),
                "replayResult": sql.Literal(outcome.result),
                "replayRules": sql.Literal(list(outcome.rules)),
            }
            change_rows(conn, self.owner, self.tables, rows, Change(("open", "fixed"), sets, is_note=True))


def require_all_claimed(rows: Collection[RejectedRow], claimed: Collection[tuple[str, str]], node: str) -> None:
    """Raise Transient `replay.rows_changed` unless all rows are unchanged since they were read."""
    if missing := len(rows) - len(claimed):
        raise Transient(
            "replay.rows_changed",
            f"{counted(missing, 'row')} of {len(rows):,} were changed, replayed or purged by somebody else meanwhile.",
            node=node,
            hint="The target was not loaded. Replay the rows again. The rows that are still open are replayed.",
        )


def close_repeats(
    conn: Conn,
    owner: Owner,
    run_id: str,
    tables: Iterable[TableName],
    repeats: Iterable[tuple[RejectedRow, StandIns]],
    loaded: Collection[str] = (),
) -> None:
    """Supersede rows that are represented only by loaded rows, which `run_id` or an earlier replay has loaded: they are
    the same rows of the source. In the caller's transaction."""
    by_run: dict[str, list[RejectedRow]] = {}
    for row, stand_ins in repeats:
        if stand_ins.names <= set(loaded) and (by := run_id if stand_ins.names else stand_ins.replay):
            by_run.setdefault(by, []).append(row)
    for by, rows in by_run.items():
        supersede_rows(conn, owner, by, tables, rows)


def count_rejects(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> tuple[int, int]:
    """Return the numbers of rows and entries that stay rejected, here or in their previous tables."""
    row = conn.execute(
        sql.SQL("SELECT count(DISTINCT r.row_id), count(*) FROM {} AS r WHERE {}").format(
            tables.rejects_identifier, is_winner(winners, "r")
        )
    ).fetchone()
    return row or (0, 0)
