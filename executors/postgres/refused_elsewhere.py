"""Staged rows that a table outside of the database would refuse. Their entries are in the reject stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import sql

from executors.model import RuleCount, TaskCount
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.staging import REFUSED_TASK, StagingTables, is_winner, one_number
from executors.rejected_rows import RowPosition
from executors.stage_plan import TASK

_ENTRIES = """
INSERT INTO {rejects} ({task}, file, record, row_id, node, rule_id, field, message, severity, disposition, row,
row_from, source_file, source_node)
SELECT {mine}, at.file, at.record, at.file || ':' || at.record, {node}, {rule}, {field}, {message}, 'skip', 'dropped',
'{{}}', 'input', '', '' FROM ROWS FROM (unnest({files}::int[]), unnest({records}::bigint[])) AS at(file, record)"""
"""Only replays refuse rows so, and the entries of their rows are in quarantine already: these are without values."""

_DROP = """
WITH refused AS (SELECT DISTINCT file, record FROM {rejects} WHERE {task} = {mine})
UPDATE {rejects} AS r SET disposition = 'dropped' FROM refused AS d
WHERE r.file = d.file AND r.record = d.record AND r.disposition = 'loaded'"""


@translate()
def refuse_positions(
    conn: Conn,
    tables: StagingTables,
    winners: Sequence[int],
    node: str,
    field: str,
    refused: Mapping[tuple[str, str], Sequence[RowPosition]],
    rows: int,
) -> TaskCount:
    """Reject the records at these positions, by rule and message, with all their staged rows, which are so many. The
    result is the count of an additional task with a negative number of staged rows."""
    names = {"rejects": tables.rejects_identifier, "task": sql.Identifier(TASK), "mine": sql.Literal(REFUSED_TASK)}
    rules = []
    with brief_transaction(conn):
        warned = _count_warned(conn, tables, winners)
        for (rule, message), positions in refused.items():
            conn.execute(
                sql.SQL(_ENTRIES).format(
                    node=sql.Literal(node),
                    rule=sql.Literal(rule),
                    field=sql.Literal(field),
                    message=sql.Literal(message),
                    files=sql.Literal([file for file, _ in positions]),
                    records=sql.Literal([record for _, record in positions]),
                    **names,
                )
            )
            if positions:
                kind = rule.partition(":")[0]
                rules.append(RuleCount(node, rule, kind, field, "skip", len(positions), (), message))
        conn.execute(sql.SQL(_DROP).format(**names))
        warned -= _count_warned(conn, tables, winners)
    records = len(set().union(*refused.values()))
    return TaskCount(
        REFUSED_TASK,
        rows_arrived=0,
        rows_staged=-rows,
        rows_rejected=records,
        rows_warned=-warned,
        rules=tuple(rules),
        dropped_at={node: records} if records else {},
        rows_exploded=records - rows,
    )


@translate()
def refused_positions(conn: Conn, tables: StagingTables) -> frozenset[RowPosition]:
    """Return the positions of the rows that were refused after the pass."""
    query = sql.SQL("SELECT DISTINCT file, record FROM {} WHERE {} = {}").format(
        tables.rejects_identifier, sql.Identifier(TASK), sql.Literal(REFUSED_TASK)
    )
    with conn.transaction():
        return frozenset(conn.execute(query).fetchall())


def _count_warned(conn: Conn, tables: StagingTables, winners: Sequence[int]) -> int:
    query = sql.SQL("SELECT count(DISTINCT r.row_id) FROM {} AS r WHERE r.disposition = 'loaded' AND {}")
    return one_number(conn, query.format(tables.rejects_identifier, is_winner(winners, "r")))
