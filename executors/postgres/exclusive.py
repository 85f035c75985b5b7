"""Constraints on pairs of rows other than plain unique keys: unique indexes that are partial, deferrable, on
expressions or on generated columns, and exclusion constraints.

PostgreSQL itself decides which rows of a batch conflict: the rows are inserted in source order into a twin, an empty
table with only this constraint, and rows that the twin refuses are conflicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.generated import over_row
from executors.postgres.load_plan import LoadPlan, column_list
from executors.postgres.names import identifier_of, own_rows_of
from executors.postgres.staging import is_winner
from executors.postgres.unique_keys import KeyColumn
from executors.stage_plan import FILE, RECORD
from executors.table_name import TableName

# An exclusion constraint defines its operators; a unique index uses the equality of each operator class.
_EXCLUSIVE = """
SELECT i.indexrelid, ic.relname, i.indisexclusion, i.indnullsnotdistinct, pg_get_expr(i.indpred, i.indrelid),
       CASE WHEN x.oid IS NULL
            THEN format('CREATE UNIQUE INDEX ON pg_temp.flow_twin_%%s ', i.indexrelid)
                 || substr(pg_get_indexdef(i.indexrelid), 1 + length(format('CREATE UNIQUE INDEX %%I ON %%s%%I.%%I ',
                        ic.relname, CASE t.relkind WHEN 'p' THEN 'ONLY ' ELSE '' END, n.nspname, t.relname)))
            ELSE format('ALTER TABLE pg_temp.flow_twin_%%s ADD ', i.indexrelid)
                 || regexp_replace(pg_get_constraintdef(x.oid), '( DEFERRABLE)?( INITIALLY DEFERRED)?$', '') END,
       array(SELECT a.attname FROM pg_attribute a
             WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND (a.attnum = ANY (i.indkey::smallint[])
                   OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                              AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass
                              AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum))),
       keys.parts
FROM pg_index i
JOIN pg_class ic ON ic.oid = i.indexrelid
JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_constraint x ON x.conindid = i.indexrelid AND x.conrelid = i.indrelid AND x.contype IN ('p', 'u', 'x')
CROSS JOIN LATERAL (
    SELECT array_agg(ARRAY[pg_get_indexdef(i.indexrelid, k.place::int, false), cn.nspname, c.collname, opn.nspname,
                           op.oprname] ORDER BY k.place) AS parts
    FROM ROWS FROM (unnest(i.indclass::oid[]), unnest(i.indcollation::oid[]), unnest(x.conexclop))
         WITH ORDINALITY AS k(opclass, coll, exclop, place)
    JOIN pg_opclass oc ON oc.oid = k.opclass
    LEFT JOIN pg_amop ao ON ao.amopfamily = oc.opcfamily AND ao.amopstrategy = 3
                        AND ao.amoplefttype = oc.opcintype AND ao.amoprighttype = oc.opcintype
    JOIN pg_operator op ON op.oid = coalesce(k.exclop, ao.amopopr)
    JOIN pg_namespace opn ON opn.oid = op.oprnamespace
    LEFT JOIN pg_collation c ON c.oid = k.coll
    LEFT JOIN pg_namespace cn ON cn.oid = c.collnamespace) AS keys
WHERE n.nspname = %s AND t.relname = %s AND (i.indisunique OR i.indisexclusion) AND i.indisvalid AND i.indisready
      AND array_length(keys.parts, 1) = i.indnkeyatts AND has_table_privilege(t.oid, 'SELECT')
      AND has_database_privilege(current_database(), 'TEMPORARY')
ORDER BY i.indexrelid"""

_TEXT = re.compile(r"'(?:[^']|'')*'")
_WHOLE_ROW = ".*"


@dataclass(frozen=True, slots=True)
class Exclusive:
    """An index that refuses rows. It compares `parts` and reads `columns`; the statement `define` creates it on the
    twin. All texts come from the catalog."""

    oid: int
    name: str
    is_exclusion: bool
    nulls_not_distinct: bool
    predicate: str | None
    define: str
    columns: tuple[str, ...]
    parts: tuple[KeyColumn, ...]

    @property
    def twin(self) -> sql.Identifier:
        return sql.Identifier("pg_temp", f"flow_twin_{self.oid}")

    @property
    def reads_whole_rows(self) -> bool:
        """Return whether the index reads whole rows, which are different in staging and in the table."""
        texts = [self.predicate or "", *(part.name for part in self.parts)]
        return any(_WHOLE_ROW in _TEXT.sub("", text) for text in texts)


def list_exclusive(conn: Conn, table: TableName) -> list[Exclusive]:
    """Return all unique indexes and exclusion constraints of a table, including plain ones. Return an empty list if the
    user may not create temporary tables or not read the table."""
    rows = conn.execute(_EXCLUSIVE, [table.schema, table.table]).fetchall()
    return [_exclusive(*row) for row in rows]


def _exclusive(
    oid: int,
    name: str,
    is_exclusion: bool,
    nulls: bool,
    predicate: str | None,
    define: str,
    columns: list[str],
    parts: list[list[str]],
) -> Exclusive:
    return Exclusive(oid, name, is_exclusion, nulls, predicate, define, tuple(columns), tuple(map(_part, parts)))


def _part(row: list[str]) -> KeyColumn:
    text, coll_schema, collation, op_schema, operator = row
    return KeyColumn(text, (coll_schema, collation) if collation else None, (op_schema, operator))


def make_twin(conn: Conn, plan: LoadPlan, one: Exclusive) -> None:
    """Create the empty twin. It is dropped at the end of the transaction."""
    conn.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT 0 AS {}, 0::bigint AS {}, {} FROM {} WITH NO DATA"
        ).format(
            one.twin, sql.Identifier(FILE), sql.Identifier(RECORD), column_list(one.columns), identifier_of(plan.target)
        )
    )
    conn.execute(one.define.encode())


def fill_twin(plan: LoadPlan, one: Exclusive, values: Mapping[str, sql.Composable], *, all_go: bool) -> sql.Composed:
    """Return a statement that inserts the loadable staged rows into the twin. `values` are the values of a row `s`.
    `all_go` means that the load removes all rows of the target, so that these refuse none."""
    free = sql.SQL("true") if all_go else sql.SQL("NOT ({})").format(_meets_target(plan, one, values))
    return sql.SQL(
        "INSERT INTO {twin} SELECT s.{file}, s.{record}, {values} FROM {rows} AS s WHERE {winner} AND {free}"
        " ORDER BY s.{file}, s.{record} ON CONFLICT DO NOTHING"
    ).format(
        twin=one.twin,
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        values=sql.SQL(", ").join(values[c] for c in one.columns),
        rows=plan.tables.good_identifier,
        winner=is_winner(plan.winners, "s"),
        free=free,
    )


def is_not_in_twin(one: Exclusive) -> sql.Composed:
    return sql.SQL("NOT EXISTS (SELECT FROM {twin} AS k WHERE k.{file} = s.{file} AND k.{record} = s.{record})").format(
        twin=one.twin, file=sql.Identifier(FILE), record=sql.Identifier(RECORD)
    )


def _meets_target(plan: LoadPlan, one: Exclusive, values: Mapping[str, sql.Composable]) -> sql.Composed:
    """Return a condition: a row of the target conflicts with the staged row `s`. Unqualified names in the sub-select
    are those of the target."""
    conditions = [_same(one, part, over_row(part.name, one.columns, values)) for part in one.parts]
    if one.predicate is not None:
        conditions += [sql.SQL("({})").format(sql.SQL(one.predicate)), over_row(one.predicate, one.columns, values)]
    return sql.SQL("EXISTS (SELECT FROM {} AS x WHERE {})").format(
        own_rows_of(plan.target, plan.dest.kind), sql.SQL(" AND ").join(conditions)
    )


def _same(one: Exclusive, part: KeyColumn, value: sql.Composed) -> sql.Composed:
    there = sql.SQL("({})").format(sql.SQL(part.name))
    same = part.equals(there, value)
    return sql.SQL("({} OR {} IS NULL AND {} IS NULL)").format(same, there, value) if one.nulls_not_distinct else same
