"""Boundary rows: rows at or above a watermark, identified by hashes of their content, with their counts.

The watermark alone cannot distinguish a loaded row from a later row with the same value. The stored hashes form a
multiset: two equal rows count twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Terminal
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import IncrementalRange, highest_in_table
from executors.postgres.key_match import own_rows
from executors.postgres.load_plan import LoadPlan, winning_rows
from executors.postgres.refusals import safe_value
from executors.postgres.staging import KNOWN_TASK, one_number
from executors.stage_plan import TASK

MOST_BOUNDARY_ROWS = 1_000_000
"""The maximum number of distinct rows at or above a bound."""


@dataclass(frozen=True, slots=True)
class BoundaryRows:
    """The known rows at or above a bound. `columns` are the hashed columns with their types. `watermark` is the id
    under which hashes are stored, None if no stored hashes can be used. Below `stored_from`, if given, only the table's
    own rows show what is loaded."""

    rows_range: IncrementalRange
    columns: Mapping[str, str]
    watermark: int | None
    stored_from: str | None

    @property
    def asks_table(self) -> bool:
        """Return whether some loaded rows are known only from the table."""
        return self.watermark is None or self.stored_from is not None


def boundary_rows_of(plan: LoadPlan, rows_range: IncrementalRange) -> BoundaryRows:
    """Return the stored hashes if all of their columns still arrive with the same types; else the rows of the table."""
    current, stored = columns_now(plan), rows_range.stored
    if stored is None or stored.hashed is None or not stored.hashed.items() <= current.items():
        return BoundaryRows(rows_range, current, None, None)
    return BoundaryRows(rows_range, stored.hashed, stored.id, None if rows_range.is_known else stored.known_from)


def have_columns_changed(plan: LoadPlan, rows_range: IncrementalRange) -> bool:
    """Return whether hashes are stored that cannot be compared with the arriving rows."""
    stored = rows_range.stored
    return stored is not None and stored.hashed is not None and boundary_rows_of(plan, rows_range).watermark is None


def columns_now(plan: LoadPlan) -> dict[str, str]:
    return {c.name: plan.destination_column(c.name).declared for c in plan.columns}


def watermark_value(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange) -> sql.Composed:
    """Return the watermark column of a staged row `s` as the table will store it; NULL if it does not fit the type."""
    return rows_range.type.of(safe_value(conn, plan, plan.stage_column(rows_range.column)))


def staged_hash(conn: Conn, plan: LoadPlan, columns: Mapping[str, str]) -> sql.Composed:
    """Return the hash of a staged row `s`, over the values as the table will store them."""
    values = [
        sql.SQL("({})::{}").format(safe_value(conn, plan, plan.stage_column(name)), sql.SQL(declared))
        for name, declared in sorted(columns.items())
    ]
    return _hash(values)


def _table_hash(columns: Mapping[str, str]) -> sql.Composed:
    return _hash([sql.SQL("{}").format(sql.Identifier("x", name)) for name in sorted(columns)])


def _hash(values: list[sql.Composed]) -> sql.Composed:
    # The text of a row quotes its fields, so that NULL and '' differ and no two rows share a text.
    fields = sql.SQL(", ").join(sql.SQL("{}::text").format(value) for value in values)
    return sql.SQL("sha256(convert_to(ROW({})::text, 'UTF8'))").format(fields)


def known_rows(plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> sql.Composed:
    """Return a query of `(hash, n)`: the rows at or above `bound` that are loaded already."""
    parts = []
    if boundary_rows.watermark is not None:
        stored = sql.SQL("SELECT t.hash, t.n FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {}")
        parts.append(stored.format(sql.Literal(boundary_rows.watermark)))
    if (rows := _rows_of_table(plan, boundary_rows, bound)) is not None:
        held = sql.SQL("SELECT {} AS hash, count(*) AS n FROM {} GROUP BY 1")
        parts.append(held.format(_table_hash(boundary_rows.columns), rows))
    return sql.SQL("({})").format(sql.SQL(" UNION ALL ").join(parts))


def _rows_of_table(plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> sql.Composed | None:
    """Return the rows of the table, as `x`, at or above `bound` for which no hash is stored; None if hashes cover
    all."""
    rows_range = boundary_rows.rows_range
    value = rows_range.type.of(sql.Identifier("x", rows_range.column))
    if not boundary_rows.asks_table:
        return None
    conditions = [sql.SQL("{} >= {}").format(value, rows_range.value(bound))]
    if boundary_rows.watermark is not None:
        conditions.append(sql.SQL("{} < {}").format(value, rows_range.value(boundary_rows.stored_from)))
    return sql.SQL("{} AS x WHERE {}").format(own_rows(plan), sql.SQL(" AND ").join(conditions))


@dataclass(frozen=True, slots=True)
class Reach:
    """The values of known rows: up to `last`, and from `ahead` on, which is the first value that the watermark does not
    follow."""

    last: str
    ahead: str | None = None

    def holds(self, rows_range: IncrementalRange, value: sql.Composable) -> sql.Composed:
        return sql.SQL("({0} <= {1} OR coalesce({0} >= {2}, false))").format(
            value, rows_range.value(self.last), rows_range.value(self.ahead)
        )


def find_reach(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows) -> Reach | None:
    """Return the values of known rows; None if no row is known. If the table must be consulted, as after a watermark
    was set back, known rows may be above the watermark."""
    rows_range = boundary_rows.rows_range
    if boundary_rows.watermark is None or rows_range.watermark is None:
        last = highest_in_table(conn, own_rows(plan), rows_range.column, rows_range.type)
        return None if last is None else Reach(last)
    value, watermark = rows_range.type.of(sql.SQL("t.value").format()), rows_range.value(rows_range.watermark)
    query = sql.SQL(
        "SELECT min({0})::text FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {1} AND {0} > {2}"
    )
    row = conn.execute(query.format(value, sql.Literal(boundary_rows.watermark), watermark)).fetchone()
    return Reach(rows_range.watermark, row[0] if row else None)


def has_stored_from(conn: Conn, boundary_rows: BoundaryRows, bound: str) -> bool:
    """Return whether a hash is stored for a row at or above `bound`."""
    value = boundary_rows.rows_range.type.of(sql.SQL("t.value").format())
    query = sql.SQL(
        "SELECT EXISTS (SELECT FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {} AND {} >= {})"
    )
    row = conn.execute(
        query.format(sql.Literal(boundary_rows.watermark), value, boundary_rows.rows_range.value(bound))
    ).fetchone()
    return bool(row and row[0])


def require_few_in_table(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> None:
    """Raise Terminal `watermark.too_many_ties` if the table itself has too many rows at or above `bound`."""
    rows = _rows_of_table(plan, boundary_rows, bound)
    if rows is None:
        return
    query = sql.SQL("SELECT count(*) FROM (SELECT FROM {} LIMIT {}) AS n").format(
        rows, sql.Literal(MOST_BOUNDARY_ROWS + 1)
    )
    if one_number(conn, query) > MOST_BOUNDARY_ROWS:
        raise _too_many(plan, boundary_rows.rows_range)


def save_boundary_rows(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, watermark: int) -> None:
    """Store the hashes of all rows at or above `bound`, known and staged ones, under `watermark`. Call it before the
    staged rows are inserted. Raises Terminal `watermark.too_many_ties`."""
    rows_range = boundary_rows.rows_range
    if boundary_rows.watermark is None:
        conn.execute("DELETE FROM flow_meta.watermark_boundary_rows WHERE watermark = %s", [watermark])
    else:
        conn.execute(
            sql.SQL("DELETE FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {} AND {} < {}").format(
                sql.Literal(watermark), rows_range.type.of(sql.SQL("t.value").format()), rows_range.value(bound)
            )
        )
    if rows_range.watermark is not None and (rows := _rows_of_table(plan, boundary_rows, bound)) is not None:
        value = rows_range.type.of(sql.Identifier("x", rows_range.column))
        _add(conn, watermark, _table_hash(boundary_rows.columns), value, rows)
        _add_known_by_key(conn, plan, boundary_rows, bound, watermark)
    value = watermark_value(conn, plan, rows_range)
    staged = sql.SQL("{} AS s WHERE {} >= {}").format(winning_rows(plan), value, rows_range.value(bound))
    _add(conn, watermark, staged_hash(conn, plan, boundary_rows.columns), value, staged)
    query = sql.SQL("SELECT count(*) FROM flow_meta.watermark_boundary_rows WHERE watermark = {}").format(
        sql.Literal(watermark)
    )
    if one_number(conn, query) > MOST_BOUNDARY_ROWS:
        raise _too_many(plan, rows_range)


def note_known(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange) -> None:
    """Add staged rows of a replay to the known rows at or above the watermark, so that they are not loaded twice if the
    source provides them again. If known rows come from the table itself, there is nothing to add."""
    boundary_rows = boundary_rows_of(plan, rows_range)
    if boundary_rows.watermark is None or rows_range.stored is None:
        return
    value, known_from = watermark_value(conn, plan, rows_range), rows_range.stored.known_from or rows_range.bound
    staged = sql.SQL("{} AS s WHERE {} >= {}").format(winning_rows(plan), value, rows_range.value(known_from))
    _add(conn, boundary_rows.watermark, staged_hash(conn, plan, boundary_rows.columns), value, staged)


def _add_known_by_key(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, watermark: int) -> None:
    """Add the rows that were matched by key, as the source provides them: a trigger may have changed the table's
    values, and the next load must recognize these rows too."""
    value = watermark_value(conn, plan, boundary_rows.rows_range)
    rows = sql.SQL("ONLY {} AS s WHERE s.{} = {} AND {} >= {}").format(
        plan.tables.good_identifier,
        sql.Identifier(TASK),
        sql.Literal(KNOWN_TASK),
        value,
        boundary_rows.rows_range.value(bound),
    )
    _add(conn, watermark, staged_hash(conn, plan, boundary_rows.columns), value, rows, sums=False)


def _add(
    conn: Conn, watermark: int, hashed: sql.Composed, value: sql.Composed, rows: sql.Composed, *, sums: bool = True
) -> None:
    """Add hashes of rows. Without `sums`, the count of an existing hash does not change."""
    conn.execute(
        sql.SQL(
            "INSERT INTO flow_meta.watermark_boundary_rows AS t (watermark, hash, value, n)"
            " SELECT {watermark}, {hash}, min({value})::text, count(*) FROM {rows} GROUP BY 2"
            " ON CONFLICT (watermark, hash) DO {action}"
        ).format(
            watermark=sql.Literal(watermark),
            hash=hashed,
            value=value,
            rows=rows,
            action=sql.SQL("UPDATE SET n = t.n + EXCLUDED.n" if sums else "NOTHING"),
        )
    )


def _too_many(plan: LoadPlan, rows_range: IncrementalRange) -> Terminal:
    return Terminal(
        "watermark.too_many_ties",
        f"More than {MOST_BOUNDARY_ROWS:,} rows are at or above the bound of {rows_range.column!r} in {plan.target}. "
        "The target was not loaded.",
        node=plan.run.node,
        hint="Use load mode upsert, a finer watermarkColumn, or a shorter watermarkLag; for rows dated after the clock "
        "of the database a watermarkLead.",
    )
