"""Tables that Flow makes and removes."""

from __future__ import annotations

import psycopg
import pytest

from executors.destinations.postgres.tables import ready_table
from executors.errors import Terminal
from executors.postgres.inspect import inspect_target
from executors.postgres.target import columns_to_create, create_target, drop_created_target
from executors.stage_plan import FILLED
from ir.nodes.target import TargetColumn

from .conftest import target_node, working

ALL_TYPES = {
    "string": "text",
    "integer": "integer",
    "bigint": "bigint",
    "float": "double precision",
    "decimal(12,2)": "numeric(12,2)",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
    "json": "jsonb",
    "uuid": "uuid",
    "binary": "bytea",
    "pg:inet": "inet",
    "pg:int[]": "integer[]",
    "pg:character varying(3)": "character varying(3)",
}


def create(conn, schema, *columns, table="t", key=(), declared=None):
    target = target_node(schema, table, **({"columns": declared} if declared else {}))
    return create_target(conn, schema, table, columns_to_create(target, working(*columns)), key)


def test_columns_are_made_in_the_observed_types_with_those_that_loads_fill(conn, schema):
    create(conn, schema, *(f"c{i} {kind}" for i, kind in enumerate(ALL_TYPES)))
    dest = inspect_target(conn, schema, "t")
    assert [c.declared for c in dest.columns] == [*ALL_TYPES.values(), *FILLED.values()]
    assert [c.name for c in dest.columns[-3:]] == ["_source_file_hash", "_flow_run", "_source_record"]
    assert all(c.nullable for c in dest.columns)


def test_declared_columns_come_before_observed_ones(conn, schema):
    declared = [TargetColumn(name="b", type="bigint", nullable=False), TargetColumn(name="c", type="uuid")]
    create(conn, schema, "a", "b", declared=declared)
    dest = inspect_target(conn, schema, "t")
    assert [(c.name, c.declared, c.nullable) for c in dest.columns] == [
        ("b", "bigint", False),
        ("c", "uuid", True),
        *((name, kind, True) for name, kind in FILLED.items()),
    ]


def test_the_upsert_key_becomes_the_primary_key(conn, schema):
    create(conn, schema, "a", "B", "v", key=["B", "a"])
    dest = inspect_target(conn, schema, "t")
    assert dest.unique_keys == (frozenset({"a", "B"}),)
    assert [c.nullable for c in dest.columns] == [False, False, True, *(True for _ in FILLED)]


@pytest.mark.parametrize("name", ["Order", "select", 'qu"ote', "über", "x" * 63, "%s"])
def test_odd_names_are_made_as_they_stand(conn, schema, name):
    create(conn, schema, name, table=name)
    assert inspect_target(conn, schema, name).column(name) is not None


def test_a_table_that_somebody_made_meanwhile_is_left_alone(conn, make, schema):
    make("CREATE TABLE t (other integer)")
    assert create(conn, schema, "a") is None
    assert inspect_target(conn, schema, "t").columns[0].name == "other"


@pytest.mark.parametrize(
    "kind", ["pg:nonsense", "pg:int); DROP TABLE t; --", "pg:int, b int", "pg:citext", "pg:int NOT NULL"]
)
def test_a_type_that_the_database_lacks_is_refused(conn, schema, kind):
    with pytest.raises(Terminal, match=r"target\.type_unknown"):
        create(conn, schema, f"a {kind}")
    assert inspect_target(conn, schema, "t") is None


def test_an_unknown_schema_is_refused(conn):
    with pytest.raises(Terminal, match=r"target\.schema_unknown"):
        create(conn, "no_such_schema", "a")


def test_a_key_without_a_column_is_refused(conn, schema):
    with pytest.raises(Terminal, match=r"upsert\.key_unknown"):
        create(conn, schema, "a", key=["b"])


def test_a_table_of_ours_is_dropped_after_a_failed_load(conn, schema):
    assert drop_created_target(conn, create(conn, schema, "a"))
    assert inspect_target(conn, schema, "t") is None


def test_a_table_with_rows_is_never_dropped(conn, make, schema):
    created = create(conn, schema, "a")
    make("INSERT INTO t (a) VALUES ('x')")
    assert not drop_created_target(conn, created)


def test_a_table_that_took_the_name_since_is_never_dropped(conn, make, schema):
    created = create(conn, schema, "a")
    make("DROP TABLE t; CREATE TABLE t (a text)")
    assert not drop_created_target(conn, created)
    assert inspect_target(conn, schema, "t") is not None


def test_a_table_with_a_view_on_it_is_left(conn, make, schema):
    created = create(conn, schema, "a")
    make("CREATE VIEW v AS SELECT * FROM t")
    assert not drop_created_target(conn, created)
    assert inspect_target(conn, schema, "t") is not None


@pytest.mark.parametrize("name", ["ctid", "tableoid", "xmin", "cmax"])
def test_a_name_that_every_table_has_for_itself_is_refused_with_the_reason(name):
    with pytest.raises(Terminal, match=rf"target\.column_reserved.*{name!r}.*system column"):
        columns_to_create(target_node("s", "t"), working("id integer", name))


def test_columns_that_loads_fill_say_so(conn, schema):
    create_target(conn, schema, "t", columns_to_create(target_node(schema, "t"), working("id integer")))
    found = conn.execute(
        "SELECT a.attname, col_description(a.attrelid, a.attnum) LIKE 'Filled by Flow: %' FROM pg_attribute a"
        f" WHERE a.attrelid = '{schema}.t'::regclass AND a.attnum > 1 ORDER BY 1"
    ).fetchall()
    assert found == [("_flow_run", True), ("_source_file_hash", True), ("_source_record", True)]


@pytest.mark.parametrize("declared", ["xml", "xml[]", "page"])
def test_xml_on_a_server_without_it_is_refused_with_column_and_reason(conn, make, schema, declared):
    try:
        conn.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        pass
    else:
        pytest.skip("this server has XML")
    make("CREATE DOMAIN page AS xml")
    make(f"CREATE TABLE t (id integer, v {declared})")
    with (
        pytest.raises(Terminal, match=r"target\.type_unsupported.*'v' is .*libxml"),
        ready_table(conn, target_node(schema, "t"), working("id integer", "v")),
    ):
        pass


@pytest.mark.parametrize("name", ["x" * 64, "é" * 32])
def test_a_name_that_postgresql_would_cut_is_refused(name):
    with pytest.raises(Terminal, match=r"target\.name_unusable.*64 bytes"):
        columns_to_create(target_node("s", "t"), working("id integer", name))
