"""Sessions: their pinned settings, and the content of their error messages."""

from __future__ import annotations

import os
import pickle
import secrets
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from urllib.parse import quote, quote_plus

import psycopg
import pytest
from cryptography.fernet import Fernet
from psycopg.pq import TransactionStatus

from executors.errors import Failure, Terminal, Transient
from executors.model import Connection
from executors.postgres import client
from executors.postgres.client import connect, interrupt, translate
from executors.secrets import KEYS
from tests.roles import new_role

PASSWORD = "P@ss:w/rd%?"


@pytest.fixture
def stranger(server, warehouse):
    """A role with a password of special characters and no rights except CONNECT."""
    name = f"flow_stranger_{secrets.token_hex(4)}"
    with connect(server, autocommit=True) as admin, new_role(admin, name, PASSWORD):
        yield replace(warehouse, user=name, password=PASSWORD)


def everything_told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


def test_a_session_that_cannot_be_pinned_is_given_back(warehouse, monkeypatch):
    opened = []
    monkeypatch.setattr(client, "pin_session", lambda conn: (opened.append(conn), conn.execute("SELECT 1 / 0")))
    with pytest.raises(Failure):
        connect(warehouse)
    assert opened[0].closed


def test_any_character_may_stand_in_a_password(stranger):
    with connect(stranger) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("change", "kind", "code"),
    [
        ({"host": "no-such-host.invalid"}, Transient, "target.unreachable"),
        ({"port": 1}, Transient, "target.unreachable"),
        ({"password": PASSWORD + "x"}, Terminal, "target.auth_failed"),
        ({"user": "nobody_here"}, Terminal, "target.auth_failed"),
        ({"database": "nowhere"}, Terminal, "target.database_unknown"),
    ],
)
def test_a_failed_connection_is_reported_without_the_password(request, stranger, server, change, kind, code):
    if code == "target.auth_failed" and not server.password and "password" in change:
        pytest.skip("this server asks for no password")
    broken: Connection = replace(stranger, **change)
    with pytest.raises(kind) as raised:
        connect(broken)
    assert raised.value.code == code
    assert raised.value.hint
    reported = everything_told(raised.value)
    for form in (broken.password, PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), quote_plus(PASSWORD), "w/rd"):
        assert form not in reported


def interrupt_at_work(session, watcher) -> None:
    """Interrupt the session as soon as the server reports that it sleeps."""
    looking = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
    while watcher.execute(looking, [session.info.backend_pid]).fetchone() is None:
        time.sleep(0.01)
    interrupt(session)


def test_an_interrupted_statement_ends_and_the_session_goes_on(warehouse):
    with connect(warehouse, autocommit=True) as session, connect(warehouse, autocommit=True) as watcher:
        other = threading.Thread(target=interrupt_at_work, args=(session, watcher))
        other.start()
        with pytest.raises(Transient, match=r"target\.cancelled"), translate():
            session.execute("SELECT pg_sleep(600)")
        other.join()
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_a_session_that_the_server_ended_is_lost(server, warehouse):
    with connect(warehouse, autocommit=True) as session, connect(server, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s)", [session.info.backend_pid])
        with pytest.raises(Transient) as raised, translate("load"):
            session.execute("SELECT 1")
        assert (raised.value.code, raised.value.node) == ("target.lost", "load")
        with pytest.raises(Transient, match=r"target\.lost"), translate():
            session.execute("SELECT 1")


@pytest.mark.parametrize(
    ("statement", "kind", "code"),
    [
        ("INSERT INTO t VALUES (-12345)", Terminal, "target.constraint"),
        ("INSERT INTO t VALUES (1), (1)", Terminal, "target.constraint"),
        ("INSERT INTO t VALUES (NULL)", Terminal, "target.constraint"),
        ("INSERT INTO t SELECT 'secret12345'::text::integer", Terminal, "target.value_refused"),
        ("SELECT 12345 / 0", Terminal, "target.value_refused"),
        ("DO $$BEGIN RAISE EXCEPTION 'row 12345'; END$$", Terminal, "target.function_failed"),
        ("DO $$BEGIN RAISE EXCEPTION USING ERRCODE = '40P01', MESSAGE = '12345'; END$$", Transient, "target.deadlock"),
        (
            "DO $$BEGIN RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = '12345'; END$$",
            Transient,
            "target.serialization",
        ),
        ("DO $$BEGIN RAISE EXCEPTION USING ERRCODE = 'XX000', MESSAGE = '12345'; END$$", Terminal, "target.failed"),
        ("SELECT * FROM missing", Terminal, "target.table_unknown"),
        ("SELECT missing FROM t", Terminal, "target.statement_refused"),
        ("CREATE TABLE missing.t ()", Terminal, "target.schema_unknown"),
    ],
)
def test_errors_are_translated_without_row_values(make, statement, kind, code):
    make("CREATE TABLE t (id integer PRIMARY KEY CHECK (id > 0))")
    with pytest.raises(kind) as raised, translate():
        make(statement)
    assert raised.value.code == code
    reported = "".join(map(str, (raised.value, raised.value.hint, raised.value.__cause__, raised.value.args)))
    assert "12345" not in reported
    assert "(1)" not in reported


RAISING = """
CREATE FUNCTION {schema}.check_stock(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'row 12345 is wrong' USING ERRCODE = %s; END $$"""


@pytest.mark.parametrize("state", ["P0001", "U1234", "22023"])
def test_a_function_that_raises_is_named_with_its_state(make, schema, encryption_keys, state):
    make(RAISING.format(schema=schema) % f"'{state}'")
    with pytest.raises(Terminal) as raised, translate():
        make(f"SELECT {schema}.check_stock(1)")
    assert f"check_stock(integer), SQLSTATE {state}" in raised.value.message
    assert "12345" not in raised.value.message + raised.value.hint + raised.value.encrypted_detail
    assert decrypted(raised.value.encrypted_detail) == "row 12345 is wrong"


@pytest.mark.parametrize("state", ["0A000", "42501", "42P01", "53000", "55000", "3F000"])
def test_the_text_of_a_function_is_not_shown_whatever_its_state(make, schema, encryption_keys, state):
    make(RAISING.format(schema=schema) % f"'{state}'")
    with pytest.raises(Failure) as raised, translate():
        make(f"SELECT {schema}.check_stock(1)")
    assert "12345" not in raised.value.message + raised.value.hint + raised.value.encrypted_detail
    assert f"check_stock(integer), SQLSTATE {state}" in raised.value.message
    assert decrypted(raised.value.encrypted_detail) == "row 12345 is wrong"


def test_a_function_without_a_table_that_a_row_names_does_not_show_the_name(make, schema, encryption_keys):
    make(
        f"CREATE FUNCTION {schema}.look(name text) RETURNS void LANGUAGE plpgsql AS"
        " $$BEGIN EXECUTE format('SELECT * FROM %I', name); END$$"
    )
    with pytest.raises(Terminal) as raised, translate():
        make(f"SELECT {schema}.look('row 12345')")
    assert "12345" not in raised.value.message


def test_the_words_of_the_server_are_shown_where_a_parallel_worker_failed(conn):
    # The name before PostgreSQL 16 comes second.
    names = ["debug_parallel_query", "force_parallel_mode"]
    conn.execute("SELECT set_config(name, 'on', false) FROM pg_settings WHERE name = ANY (%s)", [names])
    with pytest.raises(Terminal, match="searching for elements in multidimensional arrays") as raised, translate():
        conn.execute("SELECT array_position(ARRAY[[n, 2]], 1) FROM generate_series(1, 1) AS n")
    assert "parallel worker" in raised.value.__cause__.diag.context


def test_a_function_in_sql_is_named(make, schema):
    make(f"CREATE FUNCTION {schema}.ratio(n integer) RETURNS integer LANGUAGE sql VOLATILE AS 'SELECT 1; SELECT 1 / n'")
    with pytest.raises(Terminal, match=r'in function "ratio", SQLSTATE 22012'), translate():
        make(f"SELECT {schema}.ratio(0)")


def decrypted(encrypted: str) -> str:
    return Fernet(os.environ[KEYS].split(",")[0]).decrypt(encrypted).decode()


def test_a_constraint_is_named_with_table_and_column(make, schema):
    make("CREATE TABLE t (id integer NOT NULL, CONSTRAINT small CHECK (id < 10))")
    with pytest.raises(Terminal, match=rf"{schema}\.t rejected a row: constraint 'small'"), translate():
        make("INSERT INTO t VALUES (11)")
    with pytest.raises(Terminal, match="column 'id'"), translate():
        make("INSERT INTO t VALUES (NULL)")


def test_what_a_user_may_not_do_comes_with_the_grant(stranger, make, schema):
    make("CREATE TABLE t (id integer)")
    with connect(stranger, autocommit=True) as session:
        with pytest.raises(Terminal, match=r"target\.forbidden") as raised, translate():
            session.execute(f"SELECT * FROM {schema}.t")
        assert f"GRANT USAGE, CREATE ON SCHEMA {schema}" in raised.value.hint


def test_a_lock_that_is_not_had_in_time_is_transient(make, warehouse, schema, conn):
    make("CREATE TABLE t (id integer)")
    with connect(warehouse) as holder:
        holder.execute(f"LOCK TABLE {schema}.t")
        conn.execute("SET lock_timeout = '50ms'")
        with pytest.raises(Transient, match=r"target\.lock_timeout"), translate():
            conn.execute(f"SELECT * FROM {schema}.t")


def test_failures_survive_pickling(make):
    with pytest.raises(Failure) as raised, translate("load"):
        make("SELECT 1/0")
    copied = pickle.loads(pickle.dumps(raised.value))
    assert copied.to_json() == raised.value.to_json()


def test_other_errors_pass_untranslated():
    with pytest.raises(ZeroDivisionError), translate():
        1 / 0  # noqa: B018


def test_a_transaction_ends_though_its_rollback_is_cancelled(warehouse):
    flood = "SELECT count(pg_cancel_backend(%s)) FROM generate_series(1, 500000)"
    with connect(warehouse, autocommit=True) as session, connect(warehouse, autocommit=True) as other:
        cancelling = threading.Thread(target=other.execute, args=[flood, [session.info.backend_pid]])
        cancelling.start()
        while cancelling.is_alive():
            with suppress(psycopg.Error), session.transaction():
                session.execute("SELECT 1 / 0")
            assert session.info.transaction_status == TransactionStatus.IDLE
        cancelling.join()
