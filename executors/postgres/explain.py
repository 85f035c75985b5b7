"""Describes refused rows and the violated constraint after a failed load. The server reports only the name of the
constraint."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from executors.accounting import describe_positions
from executors.errors import Failure, Terminal
from executors.model import RecordRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan
from executors.postgres.refused import find_repeats
from executors.postgres.trial import find_tried

# The server names indexes of partitions. The index of the whole table has the name that users chose.
_NAME = """
SELECT c.relname FROM pg_class c
WHERE c.oid = pg_partition_root(to_regclass(format('%%I.%%I', %s::text, %s::text)))"""

_DEFINITION = """
SELECT coalesce((SELECT pg_get_constraintdef(x.oid) FROM pg_constraint x
                 WHERE x.conrelid = t.oid AND x.conname = %(name)s),
                (SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                 WHERE i.indrelid = t.oid AND c.relname = %(name)s))
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE t.relname = %(table)s AND n.nspname = %(schema)s"""


def explain(conn: Conn, plan: LoadPlan, failure: Terminal) -> None:
    """Add the definition of the constraint and the positions of refused rows, if known, to the failure."""
    error = failure.__cause__
    if not isinstance(error, psycopg.Error):
        return
    # Errors of this explanation must not hide the failure itself.
    with suppress(Failure), translate(plan.run.node):
        refs: tuple[RecordRef, ...] = ()
        if isinstance(error, psycopg.IntegrityError) and error.diag.constraint_name is not None:
            name = _name(conn, error.diag.schema_name, error.diag.constraint_name)
            if definition := _definition(conn, plan, name):
                failure.message += f" It is {definition}."
            refs = find_repeats(conn, plan, name)
        if refs := refs or find_tried(conn, plan, failure):
            failure.message += f" Rows: {describe_positions(refs, {f.seq: f.name for f in plan.files})}."


def _name(conn: Conn, schema: str | None, name: str) -> str:
    with conn.transaction():
        row = conn.execute(_NAME, [schema, name]).fetchone()
    return str(row[0]) if row else name


def _definition(conn: Conn, plan: LoadPlan, name: str) -> str | None:
    given = {"name": name, "schema": plan.target.schema, "table": plan.target.table}
    with conn.transaction():
        row = conn.execute(_DEFINITION, given).fetchone()
    return str(row[0]) if row and row[0] else None
