"""Warehouses on the embedded PostgreSQL: each workspace has its own database and role, closed to all others.

They are created when a workspace first needs one. Passwords are derived from a secret of the home, so that a removed
connection can be added again."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

import psycopg
from psycopg import sql

from flowapp.embedded.home import Home, write_atomically
from flowapp.embedded.locks import held
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.postgres import ADMIN
from flowapp.embedded.services import ServiceAddresses

PREFIX = "warehouse_"
LONGEST_NAME = 63
PASSWORDS = "pgpass"
"""The file in FLOW_HOME with the passwords for psql (PGPASSFILE)."""


class Fields(TypedDict):
    """The fields of a connection to a warehouse."""

    host: str
    port: int
    database: str
    user: str
    password: str


def warehouse_name(workspace: str) -> str:
    """Return the name of a workspace's database and of its role. Names longer than PostgreSQL allows are shortened with
    a hash."""
    name = f"{PREFIX}{workspace}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 17]}_{hashlib.sha256(workspace.encode()).hexdigest()[:16]}"


def warehouse_fields(addresses: ServiceAddresses, workspace: str) -> Fields:
    """Return the fields of a connection to a workspace's warehouse. The warehouse may not exist yet."""
    name = warehouse_name(workspace)
    digest = hmac.digest(addresses.secrets.warehouse.encode(), name.encode(), "sha256")
    return {
        "host": LOOPBACK,
        "port": addresses.ports["postgres"],
        "database": name,
        "user": name,
        "password": urlsafe_b64encode(digest).decode().rstrip("="),
    }


def ensure_warehouse(addresses: ServiceAddresses, workspace: str) -> Fields:
    """Create the warehouse unless it exists; return the fields of a connection to it. Existing rows stay."""
    fields = warehouse_fields(addresses, workspace)
    with _administration(addresses) as admin:
        _ensure_role(admin, fields["user"], fields["password"])
        _ensure_database(admin, fields["database"])
    return fields


def note_password(home: Home, fields: Fields) -> None:
    """Store the password of a warehouse for psql, in a file that only its owner can read."""
    path = home.root / PASSWORDS
    # The port may change at the next start.
    line = ":".join([LOOPBACK, "*", fields["database"], fields["user"], fields["password"]])
    with held(home.root / f"{PASSWORDS}.lock"):
        lines = path.read_text().splitlines() if path.exists() else []
        if line not in lines:
            write_atomically(path, "".join(f"{entry}\n" for entry in [*lines, line]))


@contextmanager
def _administration(addresses: ServiceAddresses) -> Iterator[psycopg.Connection]:
    """Connect as administrator and hold a lock, because CREATE DATABASE has no IF NOT EXISTS."""
    with psycopg.connect(
        host=LOOPBACK,
        port=addresses.ports["postgres"],
        user=ADMIN,
        password=addresses.secrets.admin,
        dbname="postgres",
        autocommit=True,
        sslmode="disable",
        connect_timeout=5,
    ) as admin:
        admin.execute("SELECT pg_advisory_lock(hashtextextended('flow.warehouses', 0))")
        yield admin


def _ensure_role(admin: psycopg.Connection, name: str, password: str) -> None:
    known = admin.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).rowcount
    verb = sql.SQL("ALTER" if known else "CREATE")
    rights = sql.SQL("LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD")
    admin.execute(sql.SQL("{} ROLE {} {} {}").format(verb, sql.Identifier(name), rights, sql.Literal(password)))


def _ensure_database(admin: psycopg.Connection, name: str) -> None:
    """Create the database without connections, so that no role can connect before it is closed to all other roles."""
    database = sql.Identifier(name)
    if not admin.execute("SELECT FROM pg_database WHERE datname = %s", [name]).rowcount:
        # Nobody can connect to template0; a connection to the template would prevent the copy.
        admin.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0 ALLOW_CONNECTIONS false").format(database, database)
        )
    admin.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(database))
