"""Finds staged rows that the target would refuse, by query before the load, and moves them to the reject stage.

`refusals` lists the reasons; this module finds, records, removes and counts the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from psycopg import sql

from executors.model import RecordRef, RuleCount, TaskCount
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.load_plan import LoadPlan
from executors.postgres.refusals import Refusal, list_refusals, prepare
from executors.postgres.repeats import list_repeats
from executors.postgres.staging import REFUSED_TASK, is_winner, one_number, require_staging
from executors.stage_plan import FILE, RECORD, TASK

OnTypeMismatch = Literal["abort", "skip", "null"]

MOST_POSITIONS = 20


@translate()
def refuse_rows(conn: Conn, plan: LoadPlan, on_type_mismatch: OnTypeMismatch) -> TaskCount | None:
    """Remove the rows that the target would refuse from staging; returns None if there is nothing to check.

    The result is the count of an additional task with a negative number of staged rows: added to the pass's result, it
    corrects the totals, rules and winners. With `null`, a bad value becomes NULL if its column is nullable, and the row
    stays. Raises Transient `staging.lost`.
    """
    with brief_transaction(conn):
        rounds = [list_refusals(conn, plan)]
        if on_type_mismatch != "abort":
            # Otherwise a repeated key makes the load fail, and this check is not needed.
            rounds += [[repeat] for repeat in list_repeats(conn, plan)]
        if not any(rounds):
            return None
        require_staging(conn, plan.tables, plan.winners, plan.staged, plan.rejected, plan.run.node)
        return _Refuser(conn, plan, on_type_mismatch).run(rounds)


@translate()
def refuse_for(conn: Conn, plan: LoadPlan, refusals: list[Refusal]) -> TaskCount:
    """Remove the rows that match the caller's refusals. The result is that of `refuse_rows`."""
    with brief_transaction(conn):
        return _Refuser(conn, plan, "skip").run([refusals])


class _Gone(NamedTuple):
    """The numbers of rows deleted from staging and of their records. They differ only for exploded rows."""

    rows: int
    records: int


@dataclass(frozen=True, slots=True)
class _Refuser:
    conn: Conn
    plan: LoadPlan
    on_type_mismatch: OnTypeMismatch

    def run(self, rounds: list[list[Refusal]]) -> TaskCount:
        warned, removed, records = self._count_warned(), 0, 0
        rules: list[RuleCount] = []
        for refusals in rounds:
            found = [rule for refusal in refusals if (rule := self._note(refusal))]
            if found:
                gone = self._take_out()
                removed, records = removed + gone.rows, records + gone.records
                self._make_null(refusals)
            rules += found
        return TaskCount(
            REFUSED_TASK,
            rows_arrived=0,
            rows_staged=-removed,
            rows_rejected=records,
            rows_warned=self._count_warned() - warned,
            rules=tuple(rules),
            dropped_at={self.plan.run.node: records} if records else {},
            # A rejected record counts as one row, also if it was exploded into several.
            rows_exploded=records - removed,
        )

    def _severity(self, refusal: Refusal) -> str:
        if self.on_type_mismatch != "null":
            return self.on_type_mismatch
        return "warn" if refusal.nullable_column else "skip"

    def _note(self, refusal: Refusal) -> RuleCount | None:
        """Write an entry for each row with this refusal and return its count; None if there is no such row."""
        prepare(self.conn, refusal)
        severity = self._severity(refusal)
        # Of an exploded record, several rows may be refused.
        counted = sql.SQL("WITH added AS ({} RETURNING file, record) SELECT count(DISTINCT (file, record)) FROM added")
        violations = one_number(self.conn, counted.format(self._entries(refusal, severity)))
        if not violations:
            return None
        first = self._first_positions(refusal) if severity == "abort" else ()
        return RuleCount(
            self.plan.run.node,
            refusal.rule_id,
            refusal.kind,
            refusal.field,
            severity,
            violations,
            first,
            refusal.message,
        )

    def _entries(self, refusal: Refusal, severity: str) -> sql.Composed:
        run, files = self.plan.run, self.plan.files
        return sql.SQL(
            "INSERT INTO {rejects} ({task}, file, record, row_id, node, rule_id, field, message, severity, disposition,"
            " row, row_from, source_file, source_node)"
            " SELECT {mine}, s.{file}, s.{record},"
            " left(encode(sha256(convert_to({id_text}, 'UTF8')), 'hex'), 32),"
            " {node}, {rule}, {field}, {message}, {severity}, {disposition},"
            " (to_jsonb(s.*) - ARRAY[{task_name}, {file_name}, {record_name}])::text, {row_form}, f.name,"
            " coalesce(f.source, '')"
            " FROM {rows} AS s LEFT JOIN ROWS FROM"
            " (unnest({seqs}::int[]), unnest({names}::text[]), unnest({hashes}::text[]), unnest({sources}::text[]),"
            " unnest({heads}::text[])) AS f(seq, name, sha256, source, head)"
            " ON f.seq = s.{file} WHERE {winner} AND {refused}"
        ).format(
            rejects=self.plan.tables.rejects_identifier,
            rows=self.plan.tables.good_identifier,
            task=sql.Identifier(TASK),
            file=sql.Identifier(FILE),
            record=sql.Identifier(RECORD),
            task_name=sql.Literal(TASK),
            file_name=sql.Literal(FILE),
            record_name=sql.Literal(RECORD),
            mine=sql.Literal(REFUSED_TASK),
            # The same text as in `executors.rejects.row_id`.
            id_text=sql.SQL("concat({}, f.sha256, E'\\n', s.{}, E'\\n' || nullif(f.head, ''))").format(
                sql.Literal(f"{run.run_id}\n{run.node}\n"), sql.Identifier(RECORD)
            ),
            node=sql.Literal(run.node),
            rule=sql.Literal(refusal.rule_id),
            field=sql.Literal(refusal.field),
            message=sql.Literal(refusal.message),
            severity=sql.Literal(severity),
            disposition=sql.Literal("loaded" if severity == "warn" else "dropped"),
            row_form=sql.Literal(self.plan.row_form),
            seqs=sql.Literal([f.seq for f in files]),
            names=sql.Literal([f.name for f in files]),
            hashes=sql.Literal([f.sha256 for f in files]),
            sources=sql.Literal([f.source for f in files]),
            heads=sql.Literal([f.head for f in files]),
            winner=is_winner(self.plan.winners, "s"),
            refused=refusal.condition,
        )

    def _first_positions(self, refusal: Refusal) -> tuple[RecordRef, ...]:
        query = sql.SQL(
            "SELECT DISTINCT r.file, r.record FROM {} AS r WHERE r.{} = {} AND r.rule_id = {} ORDER BY 1, 2 LIMIT {}"
        ).format(
            self.plan.tables.rejects_identifier,
            sql.Identifier(TASK),
            sql.Literal(REFUSED_TASK),
            sql.Literal(refusal.rule_id),
            sql.Literal(MOST_POSITIONS),
        )
        return tuple(RecordRef(file, record) for file, record in self.conn.execute(query).fetchall())

    def _take_out(self) -> _Gone:
        """Delete the refused rows from staging, with the other rows of their records, and set the disposition of all
        their entries, including those of the pass, to dropped."""
        names = {
            "good": self.plan.tables.good_identifier,
            "rejects": self.plan.tables.rejects_identifier,
            "task": sql.Identifier(TASK),
            "file": sql.Identifier(FILE),
            "record": sql.Identifier(RECORD),
            "mine": sql.Literal(REFUSED_TASK),
        }
        self.conn.execute(
            sql.SQL(
                "UPDATE {rejects} AS r SET disposition = 'dropped' FROM {rejects} AS d"
                " WHERE d.{task} = {mine} AND d.disposition = 'dropped'"
                " AND r.row_id = d.row_id AND r.disposition = 'loaded'"
            ).format(**names)
        )
        row = self.conn.execute(
            sql.SQL(
                "WITH gone AS (DELETE FROM {good} AS s USING (SELECT DISTINCT file, record FROM {rejects}"
                " WHERE {task} = {mine} AND disposition = 'dropped') AS d"
                " WHERE s.{file} = d.file AND s.{record} = d.record AND {winner} RETURNING s.{file}, s.{record})"
                " SELECT count(*), count(DISTINCT ({file}, {record})) FROM gone"
            ).format(winner=is_winner(self.plan.winners, "s"), **names)
        ).fetchone()
        return _Gone(*(row or (0, 0)))

    def _make_null(self, refusals: list[Refusal]) -> None:
        for refusal in refusals:
            if refusal.nullable_column and self.on_type_mismatch == "null":
                self.conn.execute(
                    sql.SQL("UPDATE {} AS s SET {} = NULL WHERE {} AND {}").format(
                        self.plan.tables.good_identifier,
                        sql.Identifier(refusal.nullable_column),
                        is_winner(self.plan.winners, "s"),
                        refusal.condition,
                    )
                )

    def _count_warned(self) -> int:
        winners = [*self.plan.winners, REFUSED_TASK]
        return one_number(
            self.conn,
            sql.SQL("SELECT count(DISTINCT r.row_id) FROM {} AS r WHERE r.disposition = 'loaded' AND {}").format(
                self.plan.tables.rejects_identifier, is_winner(winners, "r")
            ),
        )


def find_repeats(conn: Conn, plan: LoadPlan, index: str) -> tuple[RecordRef, ...]:
    """Return the positions of the first staged rows that a unique index or exclusion constraint refuses. Nothing is
    changed."""
    with brief_transaction(conn):
        repeats = [r for r in list_repeats(conn, plan) if r.name == index]
        for repeat in repeats:
            prepare(conn, repeat)
        query = sql.SQL(
            "SELECT s.{file}, s.{record} FROM {rows} AS s WHERE {winner} AND {refused} ORDER BY 1, 2 LIMIT {n}"
        )
        return tuple(
            RecordRef(file, record)
            for repeat in repeats
            for file, record in conn.execute(
                query.format(
                    file=sql.Identifier(FILE),
                    record=sql.Identifier(RECORD),
                    rows=plan.tables.good_identifier,
                    winner=is_winner(plan.winners, "s"),
                    refused=repeat.condition,
                    n=sql.Literal(MOST_POSITIONS),
                )
            ).fetchall()
        )
