"""Builds the new table: created like the old one in a separate schema, filled, indexed and analysed.

All of this happens in the load transaction, so no other session sees the schema, and a rollback removes it. In a
separate schema all objects have their final names from the start, without conflicts with existing names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from psycopg import sql

from executors.errors import Failure
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.load_modes.append import insert_staged
from executors.postgres.load_modes.blue_green.catalog import GRANTS, query_catalog
from executors.postgres.load_modes.blue_green.definition import (
    Definition,
    Identity,
    Statements,
    read_statements,
    run,
    search_path,
)
from executors.postgres.load_plan import LoadPlan, ModeCounts
from executors.postgres.names import identifier_of
from executors.table_name import TableName

_ROLES_OF_ACL = """
SELECT c.oid, (SELECT array_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(
    pg_get_userbyid(a.grantee)) END) FROM aclexplode(c.relacl) AS a)
FROM pg_class c WHERE c.oid = {}::regclass"""

# Sequences continue from the higher value of the two.
_SET_SEQUENCE = """
SELECT setval({new}::regclass, last_value, is_called) FROM (
    SELECT last_value, is_called FROM {old} UNION ALL SELECT last_value, is_called FROM {new_name}
) AS s, (SELECT seqincrement FROM pg_sequence WHERE seqrelid = {new}::regclass) AS i
ORDER BY last_value * sign(seqincrement) DESC, is_called DESC LIMIT 1"""


def new_table_of(plan: LoadPlan) -> TableName:
    """Return the name of the new table until the swap. The name of the staging table makes its schema unique."""
    return TableName(f"flow_new_{plan.tables.good.split('_')[1]}", plan.target.table)


@contextmanager
def named_as_target(plan: LoadPlan) -> Iterator[None]:
    """Report failures within the block with the name of the target instead of the new table."""
    new = new_table_of(plan)
    try:
        with translate(plan.run.node):
            yield
    except Failure as failure:
        failure.message = failure.message.replace(f"{new.schema}.", f"{plan.target.schema}.")
        raise


def build_new(conn: Conn, plan: LoadPlan, definition: Definition) -> ModeCounts:
    """Create and fill the new table."""
    new = new_table_of(plan)
    conn.execute(
        sql.SQL("CREATE SCHEMA {} AUTHORIZATION {}").format(
            sql.Identifier(new.schema), sql.Identifier(definition.owner)
        )
    )
    with search_path(conn, new.schema, plan.target.schema):
        run(conn, definition.create)
        conn.execute(sql.SQL("ALTER TABLE {} OWNER TO {}").format(identifier_of(new), sql.Identifier(definition.owner)))
        for identity in definition.identities:
            _adopt_sequence(conn, plan, definition.owner, identity)
        run(conn, definition.before_rows)
    plan = evolve(conn, plan, new)
    counts = insert_staged(conn, replace(plan, dest=replace(plan.dest, schema=new.schema)))
    with search_path(conn, new.schema, plan.target.schema):
        force_row_security(conn, new, definition, "NO FORCE")
        run(conn, definition.after_rows)
        _grant_anew(conn, "TABLE", new, definition.owner, definition.grants)
    conn.execute(sql.SQL("ANALYZE {}").format(identifier_of(new)))
    return counts


def force_row_security(conn: Conn, table: TableName, definition: Definition, action: str) -> None:
    """Rows are inserted under the policies; then the table's owner checks foreign keys over all rows."""
    if definition.is_row_security_forced:
        conn.execute(sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(identifier_of(table), sql.SQL(action)))


def advance_sequence(conn: Conn, plan: LoadPlan, identity: Identity) -> None:
    """Continue the new sequence from the value of the old one, or from its own value if that is higher."""
    new = TableName(new_table_of(plan).schema, identity.sequence)
    conn.execute(
        sql.SQL(_SET_SEQUENCE).format(
            new=sql.Literal(identifier_of(new).as_string(conn)),
            new_name=identifier_of(new),
            old=sql.Identifier(plan.target.schema, identity.sequence),
        )
    )


def _adopt_sequence(conn: Conn, plan: LoadPlan, owner: str, identity: Identity) -> None:
    """Give the sequence of an identity column the name and the privileges of the old one."""
    new = new_table_of(plan)
    row = conn.execute(
        "SELECT relname FROM pg_class WHERE oid = pg_get_serial_sequence(%s, %s)::regclass",
        [identifier_of(new).as_string(conn), identity.column],
    ).fetchone()
    made = str(row[0]) if row else ""
    if made != identity.sequence:
        conn.execute(
            sql.SQL("ALTER SEQUENCE {} RENAME TO {}").format(
                sql.Identifier(new.schema, made), sql.Identifier(identity.sequence)
            )
        )
    advance_sequence(conn, plan, identity)
    run(conn, identity.settings)
    _grant_anew(conn, "SEQUENCE", TableName(new.schema, identity.sequence), owner, identity.grants)


def _grant_anew(conn: Conn, kind: str, name: TableName, owner: str, grants: Statements) -> None:
    """Grant the same privileges as on the old relation. Default privileges may have granted others, and the owner
    initially has all."""
    oid, roles = _acl(conn, name)
    if read_statements(conn, oid, GRANTS[kind]) == grants:
        return
    for role in (sql.Identifier(owner), *map(sql.SQL, roles)):
        conn.execute(sql.SQL("REVOKE ALL ON {} {} FROM {}").format(sql.SQL(kind), identifier_of(name), role))
    run(conn, grants)


def _acl(conn: Conn, name: TableName) -> tuple[int, list[str]]:
    """Return the relation's oid, and the names of all roles with privileges on it."""
    ((oid, roles),) = query_catalog(
        conn, sql.SQL(_ROLES_OF_ACL).format(sql.Literal(identifier_of(name).as_string(conn)))
    )
    return oid, roles or []
