"""What admins allow in queries over a connection: extension functions, and a role with server-wide rights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowapp.accounts.models import Workspace
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import KINDS
from ir.allowances import CATALOG, FLOW_SCHEMAS, Allowance
from ir.names import parse_table_name

MOST_FUNCTIONS = 100
LONGEST_NAME = 260


def allowance_of(connection: Connection) -> Allowance:
    """Return what the connection allows. The role's rights come from the last test."""
    rights = (connection.last_test or {}).get("serverRights", [])
    is_plain = not rights or connection.settings.get("allowsServerRights")
    functions = frozenset(map(parse_table_name, connection.settings.get("allowedFunctions", ())))
    return Allowance(functions, "" if is_plain else _in_words(rights))


def _in_words(rights: list[str]) -> str:
    from executors.target_database import in_words  # Most roles have no such rights, and this takes long to load.

    return in_words(rights)


def allowances_of(workspace: Workspace) -> dict[str, Allowance]:
    """Return the allowances of all databases of a workspace, by connection name."""
    kinds = [name for name, kind in KINDS.items() if kind.runs_queries]
    found = Connection.objects.filter(workspace=workspace, kind__in=kinds)
    return {connection.name: allowance_of(connection) for connection in found}


def allow(
    workspace: Workspace, name: str, *, functions: Iterable[str] | None = None, server_rights: bool | None = None
) -> Connection:
    """Replace what the connection allows; None keeps that part. Raises UnknownConnection and InvalidConnection."""
    connection = get_connection(workspace, name)
    if not KINDS[connection.kind].runs_queries:
        raise InvalidConnection(
            "connection.wrong_kind",
            f"No query runs over {name!r}: it is a {connection.kind}.",
            hint="Allow functions and roles on connections to databases.",
        )
    changes: dict[str, Any] = {}
    if functions is not None:
        changes["allowedFunctions"] = _required(functions)
    if server_rights is not None:
        changes["allowsServerRights"] = server_rights
    connection.settings = {**connection.settings, **changes}
    connection.save(update_fields=["settings", "changed_at"])
    return connection


def _required(functions: Iterable[str]) -> list[str]:
    """Return the names without repetition. Raises InvalidConnection for names that cannot be allowed."""
    names = list(dict.fromkeys(functions))
    if len(names) > MOST_FUNCTIONS:
        raise _not_a_function(f"There are {len(names)} functions; the limit is {MOST_FUNCTIONS}.")
    for name in names:
        try:
            schema, _ = parse_table_name(name) if len(name) <= LONGEST_NAME else ("", "")
        except ValueError:
            schema = ""
        if not schema:
            raise _not_a_function(f"{name[:60]!r} is not a function as schema.function.")
        if schema in (CATALOG, *FLOW_SCHEMAS):
            raise _not_a_function(f"{name} cannot be allowed: the schema {schema} holds no functions of your own.")
    return names


def _not_a_function(message: str) -> InvalidConnection:
    return InvalidConnection(
        "connection.function_invalid",
        message,
        hint="Write one function, operator function or type per line, with its schema, such as public.similarity.",
    )
