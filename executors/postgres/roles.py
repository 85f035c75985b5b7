"""The privileges of a session's role on the database server beyond its databases."""

from __future__ import annotations

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.ddl import Conn

RIGHTS = {
    "superuser": "is a superuser",
    "pg_execute_server_program": "can run programs on the database server",
    "pg_read_server_files": "can read files on the database server",
    "pg_write_server_files": "can write files on the database server",
}
"""Privileges on the server, as texts. A role has them itself or through membership."""

# Both roles are checked, because a role's settings may select another one. A member of a superuser may become it.
_RIGHTS = """
SELECT DISTINCT CASE WHEN g.rolsuper THEN 'superuser' ELSE g.rolname END
FROM pg_catalog.pg_roles AS g
CROSS JOIN (VALUES (session_user), (current_user)) AS me(name)
WHERE (g.rolsuper OR g.rolname = ANY (%s)) AND pg_catalog.pg_has_role(me.name, g.oid, 'MEMBER')
"""


def server_rights(conn: Conn) -> list[str]:
    """Return the keys of `RIGHTS` that the session's role has; for a superuser only `superuser`."""
    found = {name for (name,) in conn.execute(_RIGHTS, [list(RIGHTS)]).fetchall()}
    return ["superuser"] if "superuser" in found else [name for name in RIGHTS if name in found]


def in_words(rights: list[str]) -> str:
    """Return a text about the role's privileges; "" without any."""
    return f"its role {', '.join(RIGHTS[right] for right in rights)}" if rights else ""


def refuse_server_rights(conn: Conn, connection: Connection, what: str) -> None:
    """Raise Terminal `query.role_not_allowed` if the role could do more than read, unless an admin allows it. `what` is
    what would run with the role."""
    if not connection.allows_server_rights and (rights := server_rights(conn)):
        raise Terminal(
            "query.role_not_allowed",
            f"{what} does not run over the connection {connection.name!r}: {in_words(rights)}.",
            hint="Connect as a role that owns only what it reads and loads, or let an admin allow this role on the "
            "connection.",
        )
