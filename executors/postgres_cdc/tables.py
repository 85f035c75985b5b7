"""What the catalog of the source says about a followed table: its columns, its key, and its replica identity."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from psycopg import sql

from executors.errors import Terminal
from executors.model import DestinationColumn
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_query
from executors.postgres_cdc.protocol import RelationColumn
from executors.table_name import quoted
from ir.connectors.postgres import SourceTable

_TABLE = """
SELECT c.oid::bigint, c.relkind::text, c.relreplident::text, c.relpersistence::text,
       c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""

_COLUMNS = """
SELECT a.attname, a.atttypid::bigint, a.atttypmod, a.attgenerated::text,
       a.atthasdef OR a.attmissingval IS NOT NULL OR a.attnotnull OR a.attidentity <> '', a.attnum
FROM pg_attribute a WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""

# Expressions and predicates exclude an index from being a replica identity, and so do columns that may be NULL.
_KEYS = """
SELECT i.indexrelid::regclass::text, i.indisprimary, i.indisreplident, array_agg(a.attname ORDER BY k.place)
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
      AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
GROUP BY i.indexrelid, i.indisprimary, i.indisreplident
HAVING bool_and(a.attnotnull) ORDER BY i.indisprimary DESC, i.indexrelid"""

_PUBLISHES_GENERATED = 180000
"""From this server version on, a publication can contain stored generated columns."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of the source. `is_filled` means that rows that existed before it may have a value in it. `number` is
    `attnum`, which a column retains when it is renamed, and which no later column of the table has."""

    relation: RelationColumn
    is_filled: bool
    is_generated: bool
    number: int


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """A table as it is now. `columns` are those that its changes contain, `left_out` the generated columns that they do
    not. `identity` is `relreplident`; with a full one the log contains whole rows."""

    oid: int
    schema: str
    name: str
    identity: str
    is_partitioned: bool
    columns: tuple[SourceColumn, ...]
    left_out: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def quoted(self) -> str:
        return quoted(self.schema, self.name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    def published(self, columns: Collection[str]) -> FollowedTable:
        """Return the table with the columns that a publication contains."""
        there = tuple(column for column in self.columns if column.relation.name in columns)
        gone = [column.relation.name for column in self.columns if column not in there]
        return replace(self, columns=there, left_out=(*self.left_out, *gone))

    @property
    def relation_columns(self) -> tuple[RelationColumn, ...]:
        return tuple(column.relation for column in self.columns)

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of the columns by their names."""
        return {column.relation.name: column.number for column in self.columns}


def find_table(
    conn: Conn, table: SourceTable, named_key: Callable[[Sequence[str]], Sequence[str]] = lambda columns: ()
) -> FollowedTable:
    """Return the table. `named_key` returns the columns that the document names as its key, if any, from the columns of
    the table.

    Raises Terminal `source.table_unknown`, `cdc.table_unusable`, `cdc.key_required` and `cdc.key_differs`.
    """
    name = f"{table.schema_}.{table.name}"
    row = conn.execute(_TABLE, [table.schema_, table.name]).fetchone()
    if row is None:
        raise Terminal("source.table_unknown", f"The database has no table {name}.", hint="Names are case-sensitive.")
    oid, kind, identity, persistence, has_children = row
    if kind not in ("r", "p") or persistence != "p" or has_children:
        what = "has tables that inherit from it, whose changes the log contains under their own names"
        if not has_children:
            what = f"is {'an unlogged table' if kind in ('r', 'p') else 'no table'}, whose changes the log lacks"
        hint = "Follow a logged table without heirs, or read it with the connector postgres."
        raise Terminal("cdc.table_unusable", f"{name} {what}.", hint=hint)
    rows = conn.execute(_COLUMNS, [oid]).fetchall()
    keys = [(str(i), p, r, tuple(names)) for i, p, r, names in conn.execute(_KEYS, [oid]).fetchall()]
    wanted = named_key([column for column, *_ in rows])
    key = _key_of(quoted(table.schema_, table.name), name, identity, keys, wanted)
    includes = conn.info.server_version >= _PUBLISHES_GENERATED
    columns: list[SourceColumn] = []
    left_out: list[str] = []
    for column, type_, typmod, generated, is_filled, number in rows:
        if generated == "v" or (generated and not includes):
            left_out.append(column)
        else:
            relation = RelationColumn(column in key, column, type_, typmod)
            columns.append(SourceColumn(relation, is_filled or bool(generated), bool(generated), number))
    return FollowedTable(oid, table.schema_, table.name, identity, kind == "p", tuple(columns), tuple(left_out), key)


def _key_of(
    quoted_name: str,
    name: str,
    identity: str,
    keys: Sequence[tuple[str, bool, bool, tuple[str, ...]]],
    wanted: Sequence[str],
) -> tuple[str, ...]:
    """Return the columns by which the log identifies a row."""
    primary = next((names for _, is_primary, _, names in keys if is_primary), None)
    marked = next((names for *_, is_identity, names in keys if is_identity), None)
    logged = {"d": primary, "i": marked, "f": primary}.get(identity)
    if identity == "f" and wanted:  # the log has whole rows, so any unique columns identify them
        logged = next((names for *_, names in keys if set(names) == set(wanted)), logged)
    if logged is None:
        raise Terminal(
            "cdc.key_required",
            f"{name} has no key that the log contains, so updates and deletions cannot be applied.",
            hint=_fix(quoted_name, keys),
        )
    if wanted and set(wanted) != set(logged):
        raise Terminal(
            "cdc.key_differs",
            f"The log identifies the rows of {name} by {', '.join(logged)}, and upsertKey names {', '.join(wanted)}.",
            hint="Remove upsertKey, or change the replica identity of the table (REPLICA IDENTITY USING INDEX) and "
            "load it again.",
        )
    return logged


def _fix(quoted_name: str, keys: Sequence[tuple[str, bool, bool, tuple[str, ...]]]) -> str:
    if any(is_primary for _, is_primary, *_ in keys):
        return f"ALTER TABLE {quoted_name} REPLICA IDENTITY DEFAULT"
    if keys:
        index = keys[0][0].rpartition(".")[2]
        return f"ALTER TABLE {quoted_name} REPLICA IDENTITY USING INDEX {index}"
    return f"ALTER TABLE {quoted_name} ADD PRIMARY KEY (…)"


def describe(conn: Conn, columns: Sequence[RelationColumn]) -> tuple[DestinationColumn, ...]:
    """Return the types of columns as the log names them, also of columns that the table no longer has. Raises Terminal
    `cdc.type_unknown`."""
    rows = conn.execute(
        "SELECT c.place, format_type(c.type::oid, c.typmod) FROM unnest(%s::bigint[], %s::int[])"
        " WITH ORDINALITY AS c(type, typmod, place) JOIN pg_type t ON t.oid = c.type::oid ORDER BY c.place",
        [[column.type for column in columns], [column.typmod for column in columns]],
    ).fetchall()
    if len(rows) != len(columns):
        known = {place for place, _ in rows}
        lost = next(column.name for place, column in enumerate(columns, start=1) if place not in known)
        raise Terminal(
            "cdc.type_unknown",
            f"The type of the column {lost!r} was dropped after the changes that the log contains.",
            hint="Load the table again.",
        )
    parts = (
        sql.SQL("NULL::{} AS {}").format(sql.SQL(declared), sql.Identifier(column.name))
        for (_, declared), column in zip(rows, columns, strict=True)
    )
    return inspect_query(conn, sql.SQL("SELECT {}").format(sql.SQL(", ").join(parts)).as_string(conn))
