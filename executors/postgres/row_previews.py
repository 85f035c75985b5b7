"""Previews of rejected rows that are not read completely: the failing value and the first other fields, truncated by
the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.types.json import Jsonb

from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_pages import SECONDS, in_time
from executors.table_name import TableName
from executors.validation.rows import ESCAPED_KEY

FIELDS = 6
"""The number of fields shown in addition to the failing one."""
LONGEST = 80
"""The maximum number of characters of a value or field name, which limits a row to a few kilobytes."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text; None is NULL."""

    text: str | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class RowPreview:
    """`failing` is the value of the field that the rule checks, `fixed` its fixed value; None if the row has no such
    field, or no fix. `fields` are the first of the other fields; `more` counts the rest.
    """

    failing: Cut | None
    fixed: Cut | None
    fields: tuple[tuple[Cut, Cut], ...]
    more: int


# A row that is not an object is shown as one field without a name. Fields follow the given order, then that of jsonb.
_PREVIEWS = """
SELECT q.id, r.row ? q.field, left(r.row ->> q.field, {most}),
    r.fixed IS NOT NULL AND r.fixed -> q.field IS DISTINCT FROM r.row -> q.field, left(r.fixed ->> q.field, {most}),
    f.names, f.texts, f.number
FROM {table} AS q
CROSS JOIN LATERAL (SELECT q."fixedRow" AS fixed, CASE jsonb_typeof(q.row) WHEN 'object' THEN q.row - {escaped}
    ELSE jsonb_build_object('', q.row) END AS row) AS r
CROSS JOIN LATERAL (
    SELECT array_agg(left(o.key, {most}) ORDER BY o.place) FILTER (WHERE o.place <= {fields}) AS names,
        array_agg(left(o.value, {most}) ORDER BY o.place) FILTER (WHERE o.place <= {fields}) AS texts,
        count(*) AS number
    FROM (
        SELECT e.key, e.value, row_number() OVER (ORDER BY ({indices} -> e.key)::int, e.ordinality) AS place
        FROM jsonb_each_text(r.row) WITH ORDINALITY AS e WHERE e.key IS DISTINCT FROM q.field
    ) AS o
) AS f
WHERE q.id = ANY ({ids})"""


@translate()
def read_previews(conn: Conn, table: TableName, ids: Sequence[int], order: Sequence[str]) -> dict[int, RowPreview]:
    """Return the previews of these entries by id. `order` is the order of the fields in their source, as far as it is
    known. Raises Terminal `errors.gave_up` at the time limit."""
    query = sql.SQL(_PREVIEWS).format(
        table=identifier_of(table),
        escaped=sql.Literal(ESCAPED_KEY),
        most=sql.Literal(LONGEST + 1),
        fields=sql.Literal(FIELDS),
        indices=sql.Literal(Jsonb({name: index for index, name in enumerate(order)})),
        ids=sql.SQL("{}::bigint[]").format(sql.Literal(list(ids))),
    )
    with in_time(conn, table, SECONDS):
        rows = conn.execute(query).fetchall()
    return {
        entry: RowPreview(
            _cut(failing) if has_field else None,
            _cut(fixed) if is_fixed else None,
            tuple((_cut(name), _cut(text)) for name, text in zip(names or (), texts or (), strict=True)),
            number - len(names or ()),
        )
        for entry, has_field, failing, is_fixed, fixed, names, texts, number in rows
    }


def _cut(text: str | None) -> Cut:
    if text is None:
        return Cut(None, is_cut=False)
    return Cut(text[:LONGEST], is_cut=len(text) > LONGEST)
