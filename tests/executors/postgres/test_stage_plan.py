"""The columns of a load: matched by name, and refused before reading if they cannot be loaded."""

from __future__ import annotations

import pytest

from executors.destinations.postgres.tables import ready_table
from executors.errors import Terminal
from executors.model import StageColumn
from executors.postgres.inspect import inspect_target
from executors.stage_plan import FILLED, HIDDEN, plan_stage_columns
from ir.types import STRING, ColumnType

from .conftest import target_node, working


@pytest.fixture
def plan(conn, make, schema):
    def make_and_plan(definition, *columns, mode="append", **fields):
        make(f"CREATE TABLE t ({definition})")
        dest = inspect_target(conn, schema, "t")
        assert dest is not None
        return plan_stage_columns(target_node(schema, "t", mode, **fields), working(*columns), dest)

    return make_and_plan


def refused(code, message, call, *arguments, **fields):
    with pytest.raises(Terminal, match=message) as raised:
        call(*arguments, **fields)
    assert (raised.value.code, raised.value.node) == (code, "load")
    return raised.value


def test_columns_take_the_target_s_types_in_the_source_s_order(plan):
    columns = plan("id integer NOT NULL, name varchar(9), status text", "status", "id", "name", empty_as_null=False)
    assert columns == (
        StageColumn("status", STRING, True, None, False),
        StageColumn("id", ColumnType("integer"), False, None, False),
        StageColumn("name", STRING, True, 9, False),
    )


def test_a_column_that_a_new_table_would_lack_is_to_be_declared(conn, schema):
    declared = [{"name": "id", "type": "integer"}]
    target = target_node(schema, "t", columns=declared)
    with pytest.raises(Terminal) as raised, ready_table(conn, target, working("id", "extra")):
        pass
    assert raised.value.code == "target.column_unknown"
    assert "add it to them" in raised.value.hint
    assert "ALTER TABLE" not in raised.value.hint
    assert inspect_target(conn, schema, "t") is None


def test_empty_text_becomes_null_but_where_the_table_lets_no_text_be_null(plan):
    columns = plan("a text, b text NOT NULL, c integer NOT NULL", "a", "b", "c")
    assert [column.empty_as_null for column in columns] == [True, False, True]


def test_a_key_that_the_table_lets_be_null_takes_no_empty_text(plan):
    (key, _) = plan("k text UNIQUE, v text", "k", "v", mode="upsert", upsert_key=["k"])
    assert (key.nullable, key.empty_as_null) == (False, True)


def test_an_extra_column_is_refused_by_name(plan):
    refused(
        "target.column_unknown", "has no column 'extra'. It has id, name", plan, "id text, name text", "id", "extra"
    )


def test_a_column_that_differs_by_case_is_hinted_at(plan):
    error = refused("target.column_unknown", "'ID'", plan, '"Id" text', "ID")
    assert "'Id'" in error.hint


def test_a_missing_column_that_must_be_filled_is_refused(plan):
    refused("target.column_required", "'name'", plan, "id text, name text NOT NULL", "id")


def test_missing_columns_that_fill_themselves_are_excluded(plan):
    given = plan(
        "id text, a text, b text NOT NULL DEFAULT '', c serial, d integer GENERATED ALWAYS AS IDENTITY,"
        " _source_file_hash text NOT NULL, _flow_run uuid NOT NULL, _source_record bigint NOT NULL",
        "id",
    )
    assert [c.name for c in given] == ["id"]


@pytest.mark.parametrize("generated", ["GENERATED ALWAYS AS IDENTITY", "GENERATED ALWAYS AS (1) STORED"])
def test_a_column_that_the_table_computes_is_refused(plan, generated):
    refused("target.column_generated", "'c'", plan, f"id text, c integer {generated}", "id", "c integer")


@pytest.mark.parametrize("name", [*FILLED, *HIDDEN])
def test_names_that_flow_fills_are_refused(plan, name):
    refused("target.column_reserved", name, plan, f"id text, {name} text", "id", name)


def test_a_key_takes_no_null(plan):
    columns = plan("k text UNIQUE, v text", "k", "v", mode="upsert", upsert_key=["k"])
    assert [(c.name, c.nullable) for c in columns] == [("k", False), ("v", True)]


@pytest.mark.parametrize(
    "constraint",
    [
        "",
        ", UNIQUE (k, v)",
        ", UNIQUE (k) DEFERRABLE",
        "); CREATE UNIQUE INDEX ON t (k) WHERE (v = ''",
        "); CREATE UNIQUE INDEX ON t (lower(k)",
        "); CREATE INDEX ON t (k",
    ],
    ids=["none", "wider", "deferrable", "partial", "expression", "not unique"],
)
def test_a_key_without_a_usable_index_is_refused_with_the_ddl(plan, make, schema, constraint):
    error = refused(
        "upsert.key_not_unique",
        r"exactly \(k\)",
        plan,
        f"k text, v text{constraint}",
        "k",
        "v",
        mode="upsert",
        upsert_key=["k"],
    )
    assert error.hint == f'CREATE UNIQUE INDEX ON "{schema}"."t" ("k");'
    make("TRUNCATE t")
    make(error.hint)


def test_a_key_that_the_source_lacks_is_refused(plan):
    refused("upsert.key_unknown", "k", plan, "k serial PRIMARY KEY, v text", "v", mode="upsert", upsert_key=["k"])


def test_a_key_that_covers_all_columns_is_refused(plan):
    refused(
        "upsert.key_covers_all",
        "nothing to update",
        plan,
        "a text, b text, c text, UNIQUE (a, b)",
        "a",
        "b",
        mode="upsert",
        upsert_key=["a", "b"],
    )
