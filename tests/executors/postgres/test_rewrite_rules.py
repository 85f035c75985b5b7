"""Rules of a table that no load can pass are refused before anything is read."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.postgres.inspect import inspect_target
from executors.postgres.load_modes import load_handler

ADDS = ("append", "truncate", "incremental_watermark")


@pytest.fixture
def look(conn, make, schema):
    make("CREATE TABLE log (id integer); CREATE TABLE t (id integer PRIMARY KEY, v text)")
    return lambda mode: load_handler(mode).inspect(conn, inspect_target(conn, schema, "t"))


@pytest.mark.parametrize("mode", [*ADDS, "upsert"])
@pytest.mark.parametrize("does", ["NOTHING", "INSERT INTO log VALUES (new.id)"])
def test_a_rule_that_replaces_every_insert_is_refused_by_name(look, make, mode, does):
    make(f"CREATE RULE r AS ON INSERT TO t DO INSTEAD {does}")
    with pytest.raises(Terminal, match="'r'") as refused:
        look(mode)
    assert refused.value.code == "target.rules"


@pytest.mark.parametrize("rule", ["ON INSERT TO t DO ALSO NOTIFY t", "ON UPDATE TO t DO INSTEAD NOTHING"])
def test_an_upsert_passes_no_rule_on_insert_or_update(look, make, rule):
    make(f"CREATE RULE r AS {rule}")
    with pytest.raises(Terminal, match="upsert cannot pass"):
        look("upsert")


@pytest.mark.parametrize("mode", ADDS)
@pytest.mark.parametrize(
    "rule",
    [
        "ON INSERT TO t DO ALSO INSERT INTO log VALUES (new.id)",
        "ON INSERT TO t WHERE new.v = 'x' DO INSTEAD NOTHING",
        "ON UPDATE TO t DO INSTEAD NOTHING",
    ],
)
def test_a_rule_that_may_let_rows_in_is_left_to_the_load(look, make, mode, rule):
    make(f"CREATE RULE r AS {rule}")
    assert look(mode).table == "t"


def test_a_rule_that_is_disabled_bars_nothing(look, make):
    make("CREATE RULE r AS ON INSERT TO t DO INSTEAD NOTHING; ALTER TABLE t DISABLE RULE r")
    assert look("append").table == "t"
