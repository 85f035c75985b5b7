"""What a session's role may do on the database server beyond its databases."""

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
"""Rights over the server, in words. Roles have them themselves or through membership."""

# Both roles, for a role's own settings may choose another one. A member of a superuser may become it.
_RIGHTS = """
SELECT DISTINCT CASE WHEN g.rolsuper THEN 'superuser' ELSE g.rolname END
FROM pg_catalog.pg_roles AS g
CROSS JOIN (VALUES (session_user), (current_user)) AS me(name)
WHERE (g.rolsuper OR g.rolname = ANY (%s)) AND pg_catalog.pg_has_role(me.name, g.oid, 'MEMBER')
"""


def server_rights(conn: Conn) -> list[str]:
    """The keys of `RIGHTS` that the session's role has; a superuser has no other."""
    found = {name for (name,) in conn.execute(_RIGHTS, [list(RIGHTS)]).fetchall()}
    return ["superuser"] if "superuser" in found else [name for name in RIGHTS if name in found]


def in_words(rights: list[str]) -> str:
    """What the role is and may do; "" where there is nothing to say."""
    return f"its role {', '.join(RIGHTS[right] for right in rights)}" if rights else ""


def refuse_server_rights(conn: Conn, connection: Connection, what: str) -> None:
    """Raise Terminal `query.role_not_allowed` where the role could do more than read, unless an admin allows it. `what`
    is what would run as the role."""
    if not connection.allows_server_rights and (rights := server_rights(conn)):
        raise Terminal(
            "query.role_not_allowed",
            f"{what} does not run over the connection {connection.name!r}: {in_words(rights)}.",
            hint="Connect as a role that owns only what it reads and loads, or let an admin allow this role on the "
            "connection.",
        )
