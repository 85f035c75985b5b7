"""The properties of a query that only the database has: the owners of its functions, the tables behind views, the
rights of its role."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.queries import require_allowed
from executors.postgres.read import ReadSession
from executors.sources.base import Claimant, SourceContext
from executors.sources.postgres import PostgresSource
from ir import InvalidPipeline, parsePipelineIR
from ir.nodes import Source
from ir.queries import Query, read_query
from tests.roles import new_role

SESSION = ReadSession("a-run", 60)
SERVER_RIGHTS = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")


def source_of(query: str) -> Source:
    return Source.model_construct(
        id="src", kind="source", connector="postgres", connection="w", config={"query": query}, columns=None
    )


def open_source(source: Source, connection: Connection, stack: ExitStack, *, read_only: bool = False) -> None:
    context = SourceContext(Path(), Claimant("p", frozenset(), "a-run"), connection, 60, read_only)
    PostgresSource(source, context).open(stack)


def require(connection: Connection, text: str | Query, *functions: str) -> None:
    query = read_query(text) if isinstance(text, str) else text
    allowing = replace(connection, allowed_functions=functions)
    with SESSION.open(connection) as conn:
        require_allowed(conn, query, allowing, "The query")


def refusal(connection: Connection, text: str | Query, *functions: str) -> Terminal:
    with pytest.raises(Terminal) as raised:
        require(connection, text, *functions)
    return raised.value


# --- the attack --------------------------------------------------------------------------------------------------


@pytest.fixture
def powerful(superuser: None, server: Connection, warehouse: Connection, schema: str) -> Iterator[Connection]:
    """A connection as the server's superuser, to a database with the extensions that execute text."""
    given = replace(server, name="w", database=warehouse.database)
    with closing(connect(given, autocommit=True)) as admin:
        for extension in ("dblink", "tablefunc"):
            known = admin.execute("SELECT FROM pg_available_extensions WHERE name = %s", [extension]).rowcount
            if known:
                admin.execute(f'CREATE EXTENSION IF NOT EXISTS {extension} SCHEMA "{schema}"')
        yield given


@pytest.fixture
def trace(server: Connection) -> Iterator[Path]:
    """The path of a file that a program on the database server would write."""
    path = Path("/tmp") / f"flow_attack_{secrets.token_hex(4)}"
    yield path
    path.unlink(missing_ok=True)


def attacks(schema: str, trace: Path, to: Connection) -> list[str]:
    program = f"COPY (SELECT 1) TO PROGRAM ''touch {trace}''"
    there = f"host={to.host} port={to.port} dbname={to.database} user={to.user} password={to.password}"
    return [
        f"SELECT query_to_xml('{program}', true, true, '')",
        f"SELECT pg_catalog.query_to_xml_and_xmlschema('{program}', true, true, '')",
        f"SELECT * FROM {schema}.crosstab('{program}') AS t(a text, b text)",
        f"SELECT * FROM {schema}.connectby('(SELECT 1) AS x', 'a', 'b', 'c', 0) AS t(a text, b text, c int)",
        f"SELECT * FROM {schema}.dblink('{there}', '{program}') AS t(a text)",
        f"SELECT {schema}.dblink_exec('{there}', '{program}')",
    ]


@pytest.mark.usefixtures("encryption_keys")
@pytest.mark.parametrize("allows", [False, True], ids=["as it is", "where the role is allowed"])
def test_no_query_runs_a_program_on_the_database_server(
    powerful: Connection, schema: str, trace: Path, allows: bool
) -> None:
    """With the most rights: a superuser, and functions that execute their text."""
    connection = replace(powerful, allows_server_rights=allows)
    for query in attacks(schema, trace, powerful):
        with ExitStack() as stack, pytest.raises((Terminal, InvalidPipeline)) as raised:
            open_source(source_of(query), connection, stack)
        assert getattr(raised.value, "code", "").startswith(("query.", "pipeline."))
    assert not trace.exists()


def test_the_attack_works_without_the_guard(powerful: Connection, schema: str, trace: Path) -> None:
    """This proves the test above: a read-only transaction does not prevent programs from running."""
    for query in attacks(schema, trace, powerful):
        with suppress(psycopg.Error), SESSION.open(powerful) as conn:
            conn.execute(query.encode())
    assert trace.exists()


def test_the_editor_is_informed_at_save(schema: str) -> None:
    document = {
        "kind": "pipeline",
        "version": "1.0",
        "id": "p",
        "nodes": [
            {
                "id": "in",
                "kind": "source",
                "connector": "postgres",
                "connection": "w",
                "config": {"query": "SELECT query_to_xml('SELECT 1', true, true, '') AS a"},
            },
            {
                "id": "out",
                "kind": "target",
                "inputs": ["in"],
                "connector": "postgres",
                "connection": "w",
                "schema": schema,
                "table": "t",
                "loadMode": "append",
                "emptyAsNull": False,
            },
        ],
    }
    with pytest.raises(InvalidPipeline) as raised:
        parsePipelineIR(document)
    assert [(str(d.path), d.code) for d in raised.value.diagnostics] == [("/nodes/0/config/query", "query.not_allowed")]


# --- functions ---------------------------------------------------------------------------------------------------


@pytest.fixture
def own(make: Callable[[str], None]) -> None:
    """A function, an operator, a domain and an enumeration in the warehouse."""
    make("CREATE FUNCTION twice(a integer) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT a * 2'")
    make("CREATE OPERATOR ### (RIGHTARG = integer, FUNCTION = twice)")
    make("CREATE DOMAIN even AS integer CHECK (twice(VALUE) > 0)")
    make("CREATE TYPE mood AS ENUM ('ok', 'bad')")
    make("CREATE TABLE t (a integer)")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("SELECT {s}.twice(a) FROM {s}.t", "twice"),
        ("SELECT * FROM {s}.twice(1)", "twice"),
        ("SELECT OPERATOR({s}.###) a FROM {s}.t", "twice"),
        ("SELECT a::{s}.even FROM {s}.t", "even"),
        ("SELECT CAST(NULL AS {s}.even[])", "even"),
        ("SELECT * FROM json_to_record('{{}}') AS x(a {s}.even)", "even"),
        ("SELECT NULL::{s}.t", "t"),
    ],
)
def test_what_calls_functions_of_others_is_refused_until_an_admin_allows_them_by_name(
    warehouse: Connection, schema: str, text: str, named: str
) -> None:
    query = text.format(s=schema)
    refused = refusal(warehouse, query, "public.another")
    assert (refused.code, f"{schema}.{named}" in str(refused)) == ("query.function_not_allowed", True)
    require(warehouse, query, f"{schema}.{named}")


@pytest.mark.usefixtures("own")
def test_an_enumeration_and_operators_of_postgresql_need_nothing(warehouse: Connection, schema: str) -> None:
    require(warehouse, f"SELECT 'ok'::{schema}.mood, 1 OPERATOR(pg_catalog.+) 2, a = ANY ('{{1}}') FROM {schema}.t")


def test_names_are_distinguished_as_postgresql_does(
    warehouse: Connection, schema: str, make: Callable[[str], None]
) -> None:
    make("CREATE FUNCTION \"Twice.it\"() RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2'")
    query = f'SELECT {schema}."Twice.it"()'
    assert refusal(warehouse, query, f"{schema}.twice").code == "query.function_not_allowed"
    require(warehouse, query, f'{schema}."Twice.it"')


def test_an_allowed_function_that_calls_itself_volatile_is_refused_all_the_same(
    warehouse: Connection, schema: str, make: Callable[[str], None]
) -> None:
    make("CREATE FUNCTION wipe() RETURNS integer LANGUAGE sql AS 'SELECT 1'")
    refused = refusal(warehouse, f"SELECT {schema}.wipe()", f"{schema}.wipe")
    assert (refused.code, "volatile" in str(refused)) == ("query.not_allowed", True)


def test_a_field_of_a_row_is_no_call_and_a_function_written_like_one_is(
    warehouse: Connection, schema: str, make: Callable[[str], None]
) -> None:
    make("CREATE TYPE place AS (street text)")
    make("CREATE TABLE p (at place)")
    require(warehouse, f"SELECT (at).street FROM {schema}.p")
    refused = refusal(warehouse, "SELECT ('1'::text).lo_import")
    assert (refused.code, "lo_import" in str(refused)) == ("query.not_allowed", True)


@pytest.mark.usefixtures("superuser")
def test_a_function_that_somebody_put_among_those_of_postgresql_is_refused(
    warehouse: Connection, admin: Callable[[str], None]
) -> None:
    admin("CREATE FUNCTION pg_catalog.lower(integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1'")
    try:
        refused = refusal(warehouse, "SELECT lower(1)")
    finally:
        admin("DROP FUNCTION pg_catalog.lower(integer)")
    assert (refused.code, "pg_catalog.lower" in str(refused)) == ("query.not_allowed", True)
    require(warehouse, "SELECT lower('A')")


# --- tables ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("encryption_keys")
@pytest.mark.parametrize(
    "made",
    [
        "CREATE VIEW v AS SELECT * FROM flow_meta.fences",
        "CREATE VIEW u AS SELECT * FROM flow_meta.fences; CREATE VIEW v AS SELECT 1 AS a FROM u WHERE false",
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM flow_meta.fences",
        "CREATE VIEW v AS SELECT 1 AS a WHERE EXISTS (SELECT FROM flow_meta.samples)",
        "CREATE TABLE v (a integer) PARTITION BY LIST (a);"
        " CREATE TABLE flow_meta.{s}_part PARTITION OF v FOR VALUES IN (1)",
        "CREATE TABLE v (a integer); CREATE TABLE flow_meta.{s}_part () INHERITS (v)",
    ],
)
def test_what_leads_to_tables_of_flow_is_refused_as_table_and_in_queries(
    warehouse: Connection, schema: str, make: Callable[[str], None], made: str
) -> None:
    for statement in made.format(s=schema).split(";"):
        make(statement)
    refused = refusal(warehouse, f"SELECT * FROM (SELECT * FROM {schema}.v) AS x")
    assert (refused.code, "flow_meta." in str(refused)) == ("query.not_allowed", True)
    table = Source.read(
        {
            "id": "src",
            "kind": "source",
            "connector": "postgres",
            "connection": "w",
            "config": {"table": {"schema": schema, "name": "v"}},
        }
    )
    with ExitStack() as stack, pytest.raises(Terminal, match="flow_meta"):
        open_source(table, warehouse, stack)


@pytest.mark.usefixtures("encryption_keys", "conn")
@pytest.mark.parametrize(("schema_", "name"), [("flow_meta", "fences"), ("pg_catalog", "pg_stat_activity")])
def test_a_table_of_flow_is_no_source_whatever_was_saved(warehouse: Connection, schema_: str, name: str) -> None:
    table = Source.model_construct(
        id="src",
        kind="source",
        connector="postgres",
        connection="w",
        columns=None,
        config={"table": {"schema": schema_, "name": name}},
    )
    with ExitStack() as stack, pytest.raises(Terminal, match=r"^query\.not_allowed"):
        open_source(table, warehouse, stack)


# --- roles -------------------------------------------------------------------------------------------------------


@pytest.fixture
def role(superuser: None, server: Connection, warehouse: Connection) -> Iterator[tuple[Connection, psycopg.Connection]]:
    """A connection as a new role, and a session of the server."""
    name = f"role_{secrets.token_hex(4)}"
    database = replace(server, database=warehouse.database)
    with closing(connect(database, autocommit=True)) as admin, new_role(admin, name):
        grant = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
        admin.execute(grant.format(sql.Identifier(warehouse.database), sql.Identifier(name)))
        yield replace(warehouse, user=name, password="x"), admin


@pytest.mark.parametrize("right", SERVER_RIGHTS)
@pytest.mark.parametrize("through", ["itself", "a group"])
def test_a_role_with_rights_over_the_server_runs_no_query(
    role: tuple[Connection, psycopg.Connection], right: str, through: str
) -> None:
    connection, admin = role
    require(connection, "SELECT 1")
    with ExitStack() as stack:
        holder = connection.user
        if through == "a group":
            holder = f"group_{secrets.token_hex(4)}"
            stack.enter_context(new_role(admin, holder))
            admin.execute(f"ALTER ROLE {connection.user} NOINHERIT; GRANT {holder} TO {connection.user}")
        admin.execute(f"GRANT {right} TO {holder}")
        refused = refusal(connection, "SELECT 1")
        assert (refused.code, "on the database server" in str(refused) or "programs" in str(refused)) == (
            "query.role_not_allowed",
            True,
        )
        require(replace(connection, allows_server_rights=True), "SELECT 1")


@pytest.mark.usefixtures("encryption_keys")
def test_as_a_superuser_tables_are_loaded_and_neither_queried_nor_previewed(
    powerful: Connection, schema: str, make: Callable[[str], None]
) -> None:
    make("CREATE TABLE s (a integer)")
    assert "is a superuser" in str(refusal(powerful, "SELECT 1"))
    table = Source.read(
        {
            "id": "src",
            "kind": "source",
            "connector": "postgres",
            "connection": "w",
            "config": {"table": {"schema": schema, "name": "s"}},
        }
    )
    with ExitStack() as stack:
        open_source(table, powerful, stack)
        open_source(table, replace(powerful, allows_server_rights=True), stack, read_only=True)
        with pytest.raises(Terminal, match=r"^query\.role_not_allowed: A preview"):
            open_source(table, powerful, stack, read_only=True)
