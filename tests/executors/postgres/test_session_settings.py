"""Settings of a role or database for its sessions change no result and end no load."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.session_settings import GUARDED, PINNED
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.postgres.reviewed_settings import NAMES
from tests.roles import new_role

ODD = {
    "search_path": "public",
    "timezone": "Asia/Tokyo",
    "timezone_abbreviations": "India",
    "datestyle": "SQL, DMY",
    "intervalstyle": "iso_8601",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "lc_monetary": "C.UTF-8",
    "client_encoding": "LATIN1",
    "array_nulls": "off",
    "xmloption": "document",
    "xmlbinary": "hex",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "gin_fuzzy_search_limit": "5",
    "row_security": "off",
    "restrict_nonsystem_relation_kind": "view",
    "lock_timeout": "9s",
    "statement_timeout": "9s",
    "transaction_timeout": "9s",
    "idle_session_timeout": "9s",
    "idle_in_transaction_session_timeout": "9s",
    "tcp_user_timeout": "9s",
    "exit_on_error": "on",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
}

_SHOWN = "SELECT lower(name), current_setting(name) FROM pg_settings WHERE lower(name) = ANY (%s)"


@pytest.fixture
def role(server: Connection, warehouse: Connection) -> Iterator[Connection]:
    name = f"flow_odd_{secrets.token_hex(4)}"
    with connect(server, autocommit=True) as admin, new_role(admin, name, "secret"):
        yield replace(warehouse, user=name, password="secret")


def test_every_setting_of_the_server_is_pinned_or_has_been_reviewed(conn: psycopg.Connection) -> None:
    """Review each new setting of a new release: does it change the meaning of a statement, or end a session?"""
    rows = conn.execute(
        "SELECT lower(name) FROM pg_settings WHERE name NOT LIKE '%.%'"
        " AND context IN ('user', 'superuser', 'backend', 'superuser-backend')"
    ).fetchall()
    assert {name for (name,) in rows} - PINNED.keys() - GUARDED.keys() - NAMES == set()


def test_a_setting_is_either_pinned_or_reviewed() -> None:
    assert (PINNED.keys() | GUARDED.keys()) & NAMES == set()
    assert PINNED.keys() == ODD.keys()


def test_settings_are_pinned_whatever_the_role_says(server: Connection, role: Connection) -> None:
    with connect(server, autocommit=True) as admin:
        there = dict(admin.execute(_SHOWN, [list(PINNED)]).fetchall())
        for name in there:
            admin.execute(
                sql.SQL("ALTER ROLE {} SET {} = {}").format(
                    sql.Identifier(role.user), sql.Identifier(name), sql.Literal(ODD[name])
                )
            )
    with connect(role, application_name="flow run 42") as session:
        shown = dict(session.execute(_SHOWN, [list(PINNED)]).fetchall())
        assert session.execute("SHOW application_name").fetchone() == ("flow run 42",)
    assert shown == {name: PINNED[name] for name in there}


@pytest.mark.usefixtures("superuser")
def test_a_role_without_triggers_and_foreign_keys_is_refused(server: Connection, role: Connection) -> None:
    with connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("ALTER ROLE {} SET session_replication_role = replica").format(sql.Identifier(role.user)))
    with pytest.raises(Terminal, match=r"target\.setting_unusable.*session_replication_role = replica"):
        connect(role)


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    return World(tmp_path, warehouse, schema)


@pytest.fixture
def set_for_role(world: World) -> Iterator[Callable[[str, str], None]]:
    """Set a parameter for all new sessions of the loading role in this database."""
    database = f'"{world.warehouse.database}"'

    def set_it(name: str, value: str) -> None:
        if world.sql("select 1 from pg_settings where name = %s", name) == []:
            pytest.skip("this server has no such setting")
        world.sql(f"alter role current_user in database {database} set {name} = '{value}'")

    yield set_it
    world.sql(f"alter role current_user in database {database} reset all")


ARRAYS = (
    "create table s (id int, v text[]); insert into s values (1, array['a', null, 'NULL']); create table t (like s)"
)


@pytest.mark.parametrize(("name", "value"), [("array_nulls", "off"), ("quote_all_identifiers", "on")])
def test_arrays_arrive_as_they_are(
    world: World, set_for_role: Callable[[str, str], None], name: str, value: str
) -> None:
    world.sql(ARRAYS)
    set_for_role(name, value)
    report = world.run(world.table_document())
    assert (world.rows(), reconciles(report)) == ([(1, ["a", None, "NULL"])], True)


def test_pieces_of_xml_arrive_as_they_are(world: World, set_for_role: Callable[[str, str], None]) -> None:
    try:
        world.sql("create table s as select 1 as id, 'a<b/>c'::xml as v; create table t (like s)")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("the server was built without XML")
    set_for_role("xmloption", "document")
    world.run(world.table_document())
    assert world.rows("v::text") == [("a<b/>c",)]


@pytest.mark.parametrize("name", ["statement_timeout", "transaction_timeout", "idle_session_timeout"])
def test_limits_of_the_role_end_no_load(world: World, set_for_role: Callable[[str, str], None], name: str) -> None:
    world.sql("create table s as select 1 as id; create table t (id int)")
    world.sql(
        "create function wait() returns trigger language plpgsql as"
        " 'begin perform pg_catalog.pg_sleep(0.7); return null; end'"
    )
    world.sql("create trigger slow after insert on t execute function wait()")
    world.memory.on_step = lambda step, node: time.sleep(0.7) if step == "load" else None
    set_for_role(name, "500ms")
    assert target_of(world.run(world.table_document())).rows_loaded == 1
