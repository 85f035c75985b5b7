"""Reasons for which a target would refuse a staged row, each as an SQL condition on the row `s`: types that are sent as
text or would round, CHECK constraints and foreign keys. PostgreSQL itself decides in all other cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import sql

from executors.model import StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.exact_input import is_exact_input
from executors.postgres.generated import generated_values, row_of
from executors.postgres.load_plan import LoadPlan, staged_value
from executors.postgres.names import own_rows_of
from executors.postgres.valid_input import is_valid_input
from executors.table_name import TableName
from executors.types import wire_type

# A check on the whole row (attribute 0) names no columns and is left to PostgreSQL. Constraints that are not enforced
# exist from PostgreSQL 18 on; older catalogs have no such column.
_CHECKS = """
SELECT c.conname, pg_get_expr(c.conbin, c.conrelid),
       (SELECT array_agg(a.attname) FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey))
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND c.contype = 'c' AND c.conkey <> '{}' AND 0 <> ALL (c.conkey)
      AND coalesce((to_jsonb(c)->>'conenforced')::boolean, true) ORDER BY c.conname"""

# A table that refers to itself may find its parents in the same batch, so its own foreign key is left to PostgreSQL.
_FOREIGN_KEYS = """
SELECT c.conname, rn.nspname, r.relname, array_agg(a.attname ORDER BY k.place), array_agg(ra.attname ORDER BY k.place),
       array_agg(opn.nspname ORDER BY k.place), array_agg(op.oprname ORDER BY k.place),
       array_agg(cn.nspname ORDER BY k.place), array_agg(co.collname ORDER BY k.place),
       CASE r.relkind WHEN 'r' THEN 'table' ELSE 'partitioned table' END
FROM pg_constraint c
JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class r ON r.oid = c.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
CROSS JOIN LATERAL ROWS FROM (unnest(c.conkey), unnest(c.confkey), unnest(c.conpfeqop))
    WITH ORDINALITY AS k(attnum, refnum, operator, place)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum
JOIN pg_attribute ra ON ra.attrelid = c.confrelid AND ra.attnum = k.refnum
JOIN pg_operator op ON op.oid = k.operator JOIN pg_namespace opn ON opn.oid = op.oprnamespace
LEFT JOIN pg_collation co ON co.oid = ra.attcollation LEFT JOIN pg_namespace cn ON cn.oid = co.collnamespace
WHERE n.nspname = %s AND t.relname = %s AND c.contype = 'f' AND c.conparentid = 0 AND c.confrelid <> c.conrelid
      AND coalesce((to_jsonb(c)->>'conenforced')::boolean, true)
      AND has_schema_privilege(rn.oid, 'USAGE') AND has_table_privilege(r.oid, 'SELECT')
GROUP BY c.oid, c.conname, rn.nspname, r.relname, r.relkind ORDER BY c.conname"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason to refuse a row: its rule id and kind, its message, and the condition on the staged row `s`.

    `nullable_column` is the column that may be set to NULL to fix the row. `prepare` is a statement to execute before
    the condition is evaluated, after rows with other refusals are removed.
    """

    kind: str
    name: str
    field: str | None
    message: str
    condition: sql.Composed
    nullable_column: str | None = None
    prepare: sql.Composed | None = None

    @property
    def rule_id(self) -> str:
        return f"{self.kind}:{self.name}"


def prepare(conn: Conn, refusal: Refusal) -> None:
    if refusal.prepare is not None:
        conn.execute(refusal.prepare)


def list_refusals(conn: Conn, plan: LoadPlan) -> list[Refusal]:
    """Return refusals that depend only on the row itself: types, CHECK constraints, foreign keys."""
    values = {c.name: safe_value(conn, plan, c) for c in plan.columns}
    values |= generated_values(conn, plan.target, values)
    return [*_types(conn, plan), *_checks(conn, plan, values), *_foreign_keys(conn, plan, values)]


def _types(conn: Conn, plan: LoadPlan) -> list[Refusal]:
    found = []
    for column in plan.columns:
        if (fits := _fits(conn, plan, column)) is not None:
            found.append(
                Refusal(
                    "type",
                    column.name,
                    column.name,
                    f"does not fit {plan.destination_column(column.name).declared}",
                    sql.SQL("NOT ({})").format(fits),
                    nullable_column=column.name if column.nullable else None,
                )
            )
    return found


def _fits(conn: Conn, plan: LoadPlan, column: StageColumn) -> sql.Composed | None:
    """Return a condition: the staged value converts to the column's type unchanged. Return None if that is certain."""
    value, dest = sql.Identifier("s", column.name), plan.destination_column(column.name)
    if wire_type(column.type).as_text:
        valid = is_valid_input(conn, value, dest.declared)
        exact = is_exact_input(conn, value, dest.declared, takes_nan=column.is_native)
        return sql.SQL("CASE WHEN {} THEN {} ELSE false END").format(valid, exact) if exact else valid
    # The pass has checked the length of texts, and sends decimals in their declared type and times in microseconds.
    if dest.declared == dest.base or column.type.kind in ("string", "decimal") or "(6)" in dest.declared:
        return None
    return sql.SQL("{0} IS NOT DISTINCT FROM {0}::{1}").format(value, sql.SQL(dest.declared))


def safe_value(conn: Conn, plan: LoadPlan, column: StageColumn) -> sql.Composed:
    """Return the staged value in the column's type; NULL if it does not fit, which is a refusal of its own."""
    value, fits = staged_value(plan, column), _fits(conn, plan, column)
    if fits is None:
        return sql.SQL("{}::{}").format(value, sql.SQL(plan.destination_column(column.name).base))
    return sql.SQL("CASE WHEN {} THEN {} END").format(fits, value)


def _checks(conn: Conn, plan: LoadPlan, values: dict[str, sql.Composed]) -> list[Refusal]:
    found = []
    for name, expression, columns in conn.execute(_CHECKS, [plan.dest.schema, plan.dest.table]).fetchall():
        if not set(columns) <= set(values):
            continue
        condition = sql.SQL("EXISTS (SELECT FROM {} AS v WHERE ({}) IS FALSE)").format(
            row_of(columns, values), sql.SQL(expression)
        )
        field = columns[0] if len(columns) == 1 else None
        found.append(Refusal("check", name, field, f"breaks the check constraint {name!r}", condition))
    return found


def _foreign_keys(conn: Conn, plan: LoadPlan, values: dict[str, sql.Composed]) -> list[Refusal]:
    rows = conn.execute(_FOREIGN_KEYS, [plan.dest.schema, plan.dest.table]).fetchall()
    return [_foreign_key(row, values) for row in rows if set(row[3]) <= set(values)]


def _foreign_key(row: tuple[Any, ...], values: dict[str, sql.Composed]) -> Refusal:
    name, schema, table, columns, ref_columns, op_schemas, ops, coll_schemas, colls, kind = row
    given = sql.SQL(" AND ").join(sql.SQL("{} IS NOT NULL").format(values[c]) for c in columns)
    same = []
    for i, column in enumerate(columns):
        value: sql.Composable = values[column]
        if colls[i]:
            value = sql.SQL("({}) COLLATE {}").format(value, sql.Identifier(coll_schemas[i], colls[i]))
        same.append(
            sql.SQL("r.{} OPERATOR({}.{}) ({})").format(
                sql.Identifier(ref_columns[i]), sql.Identifier(op_schemas[i]), sql.SQL(ops[i]), value
            )
        )
    condition = sql.SQL("{} AND NOT EXISTS (SELECT FROM {} AS r WHERE {})").format(
        given, own_rows_of(TableName(schema, table), kind), sql.SQL(" AND ").join(same)
    )
    field = columns[0] if len(columns) == 1 else None
    return Refusal("foreignKey", name, field, f"has no matching row in {schema}.{table}", condition)
