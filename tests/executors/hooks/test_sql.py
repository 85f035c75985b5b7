"""SQL hooks on a real server: refused statements change nothing, allowed statements run in a session of their own."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from executors.errors import Terminal
from executors.hooks.base import HookCall, Interruption
from executors.hooks.sql import execute, hook_session, run_sql
from executors.model import Connection
from ir import InvalidPipeline, parsePipelineIR
from ir.hooks.sql import SqlHook
from tests.executors.hooks.conftest import Run, pipeline, traces_of
from tests.ir.test_sql_guard import CORPUS

pytestmark = pytest.mark.postgres


def call(statement: str, warehouse: Connection, schema: str) -> HookCall:
    """A hook that was never checked, as if the database had been edited."""
    hook = SqlHook.model_construct(type="sql", statement=statement, when=None)
    return HookCall(hook, "key", {}, schema, warehouse, {})


@pytest.mark.parametrize("statement", CORPUS["leave traces"])
def test_what_would_leave_a_trace_is_refused_at_save_and_at_run(statement, warehouse, schema, things):
    before = traces_of(things)
    with pytest.raises(InvalidPipeline):
        parsePipelineIR(pipeline(schema, postHook={"type": "sql", "statement": statement}))
    with pytest.raises(Terminal, match=r"^hook\.sql"):
        run_sql(call(statement, warehouse, schema))
    assert traces_of(things) == before
    things.execute(statement)
    assert traces_of(things) != before


@pytest.mark.parametrize("statement", CORPUS["refused all the same"])
def test_what_is_refused_never_reaches_the_server(statement, warehouse, schema, things):
    before = traces_of(things)
    with pytest.raises(Terminal, match=r"^hook\.s"):
        run_sql(call(statement, warehouse, schema))
    assert traces_of(things) == before


def test_the_server_itself_takes_one_statement_only(warehouse, schema, things):
    before = traces_of(things)
    with pytest.raises(Terminal, match="multiple commands"), hook_session(call("", warehouse, schema)) as conn:
        execute(conn, "ANALYZE t; DELETE FROM t")
    assert traces_of(things) == before


def test_a_function_that_lies_about_itself_writes_nothing_when_a_plan_is_made(warehouse, schema, things):
    before = traces_of(things)
    explain = f"EXPLAIN SELECT {schema}.lies()"
    with pytest.raises(Terminal, match=r"^query\.function_not_allowed"):
        run_sql(call(explain, warehouse, schema))
    with pytest.raises(Terminal, match=r"^target\.function_failed.*SQLSTATE 25006"):
        run_sql(call(explain, replace(warehouse, allowed_functions=(f"{schema}.lies",)), schema))
    assert traces_of(things) == before
    things.execute("EXPLAIN SELECT lies()")
    assert traces_of(things) != before


@pytest.mark.parametrize("statement", [s for s in CORPUS["allowed"] if s not in ("ANALYZE", "CLUSTER")])
def test_each_allowed_verb_works(statement, run: Run, things):
    stage = "preHook" if statement.startswith("SET") else "postHook"
    report, failure = run({"type": "sql", "statement": statement}, stage=stage)
    assert (report.state, failure) == ("succeeded", None)
    assert report.statement == statement
    assert report.message


def test_cluster_alone_runs_outside_of_a_transaction(run: Run, things):
    things.execute("CLUSTER t USING t_pkey")
    report, _ = run({"type": "sql", "statement": "CLUSTER"})
    assert report.state == "succeeded"


def test_statistics_are_really_made(run: Run, things):
    run({"type": "sql", "statement": "ANALYZE t"})
    query = "SELECT reltuples FROM pg_class WHERE oid = 't'::regclass"
    assert things.execute(query).fetchone() == (2,)


def test_what_postgresql_says_is_reported(run: Run, things):
    report, failure = run({"type": "sql", "statement": "ANALYZE no_such_table"})
    assert report.state == "failed"
    assert 'relation "no_such_table" does not exist' in report.message
    assert failure.code == "target.table_unknown"


def test_a_table_that_postgresql_skips_with_a_warning_is_a_failure(run: Run):
    report, failure = run({"type": "sql", "statement": "VACUUM pg_catalog.pg_authid"})
    assert report.state == "failed"
    assert failure.code == "hook.warned"
    assert "pg_authid" in report.message


def test_the_text_of_a_warning_of_a_function_is_not_reported(run: Run, things, schema):
    things.execute(
        f"CREATE FUNCTION {schema}.note(n integer) RETURNS integer LANGUAGE plpgsql AS"
        " $$BEGIN RAISE WARNING 'row 12345'; RETURN n; END$$"
    )
    things.execute(f"CREATE MATERIALIZED VIEW {schema}.noted AS SELECT {schema}.note(1) AS n WITH NO DATA")
    report, _ = run({"type": "sql", "statement": f"REFRESH MATERIALIZED VIEW {schema}.noted"})
    assert "12345" not in report.message
    assert re.search(r"a warning in function (\w+\.)?note\(integer\), SQLSTATE 01000", report.message)


def test_a_plan_is_reported(run: Run, things):
    report, _ = run({"type": "sql", "statement": "EXPLAIN SELECT * FROM t"})
    assert "Scan on t" in report.message


def test_a_value_that_a_setting_cannot_have_is_found_before_the_load(run: Run):
    report, _ = run({"type": "sql", "statement": "SET work_mem = 'much'"}, stage="preHook")
    assert report.state == "failed"


def test_a_statement_that_takes_too_long_is_ended(run: Run, things, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("executors.hooks.sql.TIME_LIMIT", "200ms")
    with locked(things):
        report, failure = run({"type": "sql", "statement": "REFRESH MATERIALIZED VIEW mv"})
    assert report.state == "failed"
    assert failure.code == "hook.interrupted"


def test_a_hook_can_be_interrupted_from_another_thread(run: Run, things):
    interruption, answers = Interruption(), []
    with locked(things):
        hook = {"type": "sql", "statement": "REFRESH MATERIALIZED VIEW mv"}
        thread = threading.Thread(target=lambda: answers.append(run(hook, interruption=interruption)))
        thread.start()
        while thread.is_alive():
            time.sleep(0.1)
            interruption.interrupt()
        thread.join()
    ((report, failure),) = answers
    assert (report.state, failure.code) == ("failed", "hook.interrupted")


def test_nothing_of_a_hook_stays_in_a_session_or_is_left_open(run: Run, things):
    run({"type": "sql", "statement": "ANALYZE t"})
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'flow hook%'"
    for _ in range(50):
        if things.execute(query).fetchone() == (0,):
            return
        time.sleep(0.1)
    raise AssertionError("the session of the hook is still there")


# --- materialised views -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hook",
    [{"view": "mv"}, {"view": "My View"}, {"view": "My View", "concurrently": True}],
    ids=["plain", "quoted", "concurrently"],
)
def test_a_view_is_refreshed(hook: dict[str, Any], run: Run, things, schema: str):
    things.execute("INSERT INTO t VALUES (3, 3)")
    view = f'{schema}."{hook["view"]}"'
    report, failure = run({"type": "refresh_mat_view", **hook, "view": view})
    assert (report.state, failure) == ("succeeded", None)
    assert report.statement.startswith("REFRESH MATERIALIZED VIEW")
    assert things.execute(f'SELECT n FROM "{hook["view"]}"').fetchone() == (3,)


def test_a_view_without_unique_index_cannot_be_refreshed_concurrently(run: Run, things, schema: str):
    report, failure = run({"type": "refresh_mat_view", "view": f"{schema}.mv", "concurrently": True})
    assert (report.state, failure.code) == ("failed", "hook.view_not_unique")
    assert "unique index" in report.message


def test_what_is_no_materialised_view_is_reported(run: Run, things, schema: str):
    report, _ = run({"type": "refresh_mat_view", "view": f"{schema}.t"})
    assert report.state == "failed"
    assert '"t" is not a materialized view' in report.message


def locked(things: psycopg.Connection) -> Any:
    """Lock `mv` in this session while the block runs."""

    class Lock:
        def __enter__(self) -> None:
            things.execute("BEGIN")
            things.execute("SELECT * FROM mv")

        def __exit__(self, *_: object) -> None:
            things.execute("ROLLBACK")

    return Lock()
