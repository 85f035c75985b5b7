"""Unique indexes with the operator and collation by which PostgreSQL compares each key column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal
from executors.postgres.ddl import Conn
from executors.table_name import TableName

# Equality by name would be resolved on the (empty) search path; the index records its own operator.
_KEYS = """
SELECT ic.relname, a.attname, cn.nspname, c.collname, opn.nspname, op.oprname, i.indnullsnotdistinct,
       CASE WHEN i.indnullsnotdistinct AND NOT a.attnotnull THEN format_type(a.atttypid, -1) END
FROM pg_index i
JOIN pg_class ic ON ic.oid = i.indexrelid
JOIN pg_class tc ON tc.oid = i.indrelid
JOIN pg_namespace tn ON tn.oid = tc.relnamespace
CROSS JOIN LATERAL ROWS FROM (
    unnest(i.indkey::smallint[]), unnest(i.indclass::oid[]), unnest(i.indcollation::oid[])
) WITH ORDINALITY AS k(attnum, opclass, coll, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
JOIN pg_opclass oc ON oc.oid = k.opclass
JOIN pg_amop ao ON ao.amopfamily = oc.opcfamily AND ao.amopstrategy = 3
               AND ao.amoplefttype = oc.opcintype AND ao.amoprighttype = oc.opcintype
JOIN pg_operator op ON op.oid = ao.amopopr
JOIN pg_namespace opn ON opn.oid = op.oprnamespace
LEFT JOIN pg_collation c ON c.oid = k.coll
LEFT JOIN pg_namespace cn ON cn.oid = c.collnamespace
WHERE tn.nspname = %s AND tc.relname = %s AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT i.indisexclusion
ORDER BY i.indexrelid, k.place"""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a unique index, or the text of an expression in its place. `null_type` is the type of a column whose
    NULLs count as equal."""

    name: str
    collation: tuple[str, str] | None
    operator: tuple[str, str]
    null_type: str | None = None

    def collated(self, value: sql.Composable) -> sql.Composed:
        """Return `value` with the index's collation, without which columns of different tables cannot be compared."""
        if self.collation is None:
            return sql.SQL("({})").format(value)
        return sql.SQL("({} COLLATE {})").format(value, sql.Identifier(*self.collation))

    def equals(self, one: sql.Composable, other: sql.Composable) -> sql.Composed:
        """Return the index's own equality between two values."""
        if self.null_type is not None:
            # Records also compare their fields by these operators, treat NULLs as equal, and can be joined by sorting.
            typed = (sql.SQL("{}::{}").format(value, sql.SQL(self.null_type)) for value in (one, other))
            return sql.SQL("ROW({})::record = ROW({})::record").format(*map(self.collated, typed))
        schema, name = self.operator
        # The name of an operator contains only operator characters, so it needs no quoting and cannot be quoted.
        symbol = sql.SQL("OPERATOR({}.{})").format(sql.Identifier(schema), sql.SQL(name))
        return sql.SQL("{} {} {}").format(one, symbol, self.collated(other))


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """A valid, immediate, full unique index on plain columns."""

    index: str
    columns: tuple[KeyColumn, ...]
    nulls_not_distinct: bool


def list_unique_keys(conn: Conn, table: TableName) -> list[UniqueKey]:
    rows = conn.execute(_KEYS, [table.schema, table.table]).fetchall()
    found: dict[str, list[KeyColumn]] = {}
    nulls: dict[str, bool] = {}
    for index, name, coll_schema, coll_name, op_schema, op_name, nulls_not_distinct, null_type in rows:
        collation = (coll_schema, coll_name) if coll_name else None
        found.setdefault(index, []).append(KeyColumn(name, collation, (op_schema, op_name), null_type))
        nulls[index] = nulls_not_distinct
    return [UniqueKey(index, tuple(columns), nulls[index]) for index, columns in found.items()]


def find_unique_key(conn: Conn, table: TableName, columns: Sequence[str]) -> UniqueKey:
    """Return the unique index on exactly these columns. Of several, return one that treats NULLs as equal, because it
    applies to all rows. Raises Terminal `upsert.key_not_unique` if there is none any more."""
    found = [key for key in list_unique_keys(conn, table) if {c.name for c in key.columns} == set(columns)]
    if found:
        return max(found, key=lambda key: key.nulls_not_distinct)
    raise Terminal(
        "upsert.key_not_unique",
        f"{table} has no unique index on exactly ({', '.join(columns)}) any more: it was dropped during the run.",
        hint="Create it again, then run the pipeline again.",
    )
