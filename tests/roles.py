"""Roles for as long as a test needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql


@contextmanager
def new_role(admin: psycopg.Connection, name: str, password: str = "x") -> Iterator[None]:
    """A role that may log in and do nothing else; at the end it goes with all that it has in `admin`'s database.

    `admin` needs no more than CREATEROLE: it becomes a member, so that it may act as the role, give it things, end its
    sessions and drop what it owns, as only a superuser may do with a role that it has nothing to do with.
    """
    role = sql.Identifier(name)
    admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(password)))
    try:
        admin.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(role))
        yield
    finally:
        admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
        admin.execute(sql.SQL("DROP ROLE {}").format(role))
