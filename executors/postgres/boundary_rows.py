"""Boundary rows: rows at or above a watermark, identified by hashes of their content, with their counts.

A watermark alone cannot tell a row that was loaded from one that came later with the same value. What is kept beside it
is a multiset: two equal rows count twice.
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
from executors.postgres.staging import KNOWN_TASK, TASK, one_number

MOST_BOUNDARY_ROWS = 1_000_000
"""How many different rows may stand at or above a bound."""


@dataclass(frozen=True, slots=True)
class BoundaryRows:
    """The rows known at or above a bound. `columns` are those hashed, with their types; `watermark` is the id under
    which hashes are stored, None if none can be used; below `stored_from`, if it is given, the table itself tells."""

    rows_range: IncrementalRange
    columns: Mapping[str, str]
    watermark: int | None
    stored_from: str | None

    @property
    def asks_table(self) -> bool:
        """Whether of some rows only the table tells that they are loaded."""
        return self.watermark is None or self.stored_from is not None


def boundary_rows_of(plan: LoadPlan, rows_range: IncrementalRange) -> BoundaryRows:
    """The hashes that are stored, if all of their columns still come in their types; else what the table holds."""
    current, stored = columns_now(plan), rows_range.stored
    if stored is None or stored.hashed is None or not stored.hashed.items() <= current.items():
        return BoundaryRows(rows_range, current, None, None)
    return BoundaryRows(rows_range, stored.hashed, stored.id, None if rows_range.is_known else stored.known_from)


def have_columns_changed(plan: LoadPlan, rows_range: IncrementalRange) -> bool:
    """Whether hashes are stored that cannot be compared with the rows that come now."""
    stored = rows_range.stored
    return stored is not None and stored.hashed is not None and boundary_rows_of(plan, rows_range).watermark is None


def columns_now(plan: LoadPlan) -> dict[str, str]:
    return {c.name: plan.destination_column(c.name).declared for c in plan.columns}


def watermark_value(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange) -> sql.Composed:
    """The watermark column of a staged row `s`, as the table will hold it; NULL where it does not fit the type."""
    return rows_range.type.of(safe_value(conn, plan, plan.stage_column(rows_range.column)))


def staged_hash(conn: Conn, plan: LoadPlan, columns: Mapping[str, str]) -> sql.Composed:
    """The hash of a staged row `s`, over the values as the table will hold them."""
    values = [
        sql.SQL("({})::{}").format(safe_value(conn, plan, plan.stage_column(name)), sql.SQL(declared))
        for name, declared in sorted(columns.items())
    ]
    return _hash(values)


def _table_hash(columns: Mapping[str, str]) -> sql.Composed:
    return _hash([sql.SQL("{}").format(sql.Identifier("x", name)) for name in sorted(columns)])


def _hash(values: list[sql.Composed]) -> sql.Composed:
    # A row's text quotes its fields, so that NULL and '' differ and no two rows share a text.
    fields = sql.SQL(", ").join(sql.SQL("{}::text").format(value) for value in values)
    return sql.SQL("sha256(convert_to(ROW({})::text, 'UTF8'))").format(fields)


def known_rows(plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> sql.Composed:
    """A query of `(hash, n)`: the rows at or above `bound` that are loaded already."""
    parts = []
    if boundary_rows.watermark is not None:
        stored = sql.SQL("SELECT t.hash, t.n FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {}")
        parts.append(stored.format(sql.Literal(boundary_rows.watermark)))
    if (rows := _rows_of_table(plan, boundary_rows, bound)) is not None:
        held = sql.SQL("SELECT {} AS hash, count(*) AS n FROM {} GROUP BY 1")
        parts.append(held.format(_table_hash(boundary_rows.columns), rows))
    return sql.SQL("({})").format(sql.SQL(" UNION ALL ").join(parts))


def _rows_of_table(plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> sql.Composed | None:
    """The rows of the table, as `x`, at or above `bound` of which no hash is stored."""
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
    """Where known rows may stand: up to `last`, and from `ahead` on, where rows beyond the reach of watermarks
    begin."""

    last: str
    ahead: str | None = None

    def holds(self, rows_range: IncrementalRange, value: sql.Composable) -> sql.Composed:
        return sql.SQL("({0} <= {1} OR coalesce({0} >= {2}, false))").format(
            value, rows_range.value(self.last), rows_range.value(self.ahead)
        )


def find_reach(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows) -> Reach | None:
    """None where no row is known. Where the table tells, as after a watermark was set back, rows above the watermark
    may be."""
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
    """Whether a hash is stored of a row at or above `bound`."""
    value = boundary_rows.rows_range.type.of(sql.SQL("t.value").format())
    query = sql.SQL(
        "SELECT EXISTS (SELECT FROM flow_meta.watermark_boundary_rows AS t WHERE t.watermark = {} AND {} >= {})"
    )
    row = conn.execute(
        query.format(sql.Literal(boundary_rows.watermark), value, boundary_rows.rows_range.value(bound))
    ).fetchone()
    return bool(row and row[0])


def require_few_in_table(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> None:
    """Raises Terminal `watermark.too_many_ties` if the table alone holds too many rows at or above `bound`."""
    rows = _rows_of_table(plan, boundary_rows, bound)
    if rows is None:
        return
    query = sql.SQL("SELECT count(*) FROM (SELECT FROM {} LIMIT {}) AS n").format(
        rows, sql.Literal(MOST_BOUNDARY_ROWS + 1)
    )
    if one_number(conn, query) > MOST_BOUNDARY_ROWS:
        raise _too_many(plan, boundary_rows.rows_range)


def save_boundary_rows(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, watermark: int) -> None:
    """Keep the hashes of all rows at or above `bound`, known ones and staged ones, under `watermark`; before the staged
    rows are inserted. Raises Terminal `watermark.too_many_ties`."""
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
    """Add the staged rows, which the table gains beside its watermark, to those known at or above it, so that a source
    that gives them again does not load them twice. Where only the table tells what it holds there is nothing to add."""
    boundary_rows = boundary_rows_of(plan, rows_range)
    if boundary_rows.watermark is None or rows_range.stored is None:
        return
    value, known_from = watermark_value(conn, plan, rows_range), rows_range.stored.known_from or rows_range.bound
    staged = sql.SQL("{} AS s WHERE {} >= {}").format(winning_rows(plan), value, rows_range.value(known_from))
    _add(conn, boundary_rows.watermark, staged_hash(conn, plan, boundary_rows.columns), value, staged)


def _add_known_by_key(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, watermark: int) -> None:
    """The rows whose keys told that they are loaded, as the source gives them: the table may hold them with values that
    a trigger has changed, and the next load is to know them too."""
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
    """Without `sums` a hash that is there already stays as it is."""
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
