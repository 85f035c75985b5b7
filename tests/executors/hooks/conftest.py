"""Runs hooks without a load, with a schema whose objects they could change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from executors.errors import Failure
from executors.hooks.base import Interruption
from executors.model import Connection, RunJob, WebhookConnection
from executors.report import HookReport
from executors.target_hooks import run_hook
from ir import parsePipelineIR
from tests.databases import connect_to

Answer = tuple[HookReport, Failure | None]


def pipeline(schema: str, **target: Any) -> dict[str, Any]:
    config = {"path": "in", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}}
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": "case",
        "nodes": [
            {"id": "src", "kind": "source", "connector": "local_fs", "config": config},
            {
                "id": "load",
                "kind": "target",
                "inputs": ["src"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": schema,
                "table": "t",
                "loadMode": "append",
                **target,
            },
        ],
    }


def make_job(document: dict[str, Any], connection: Connection, **webhooks: WebhookConnection) -> RunJob:
    read = parsePipelineIR(document).pipeline
    return RunJob("run-1", "tenant", read, 3, 1, 1, {"warehouse": connection}, Path("/nowhere"), webhooks=webhooks)


Run = Callable[..., Answer]


@pytest.fixture
def run(warehouse: Connection, schema: str) -> Run:
    """`run({"type": "sql", …})` runs one hook after the load as a run does; `stage="preHook"` runs one before the
    load."""

    def run_one(
        hook: dict[str, Any],
        *,
        stage: str = "postHook",
        counts: dict[str, int] | None = None,
        webhooks: dict[str, WebhookConnection] | None = None,
        interruption: Interruption | None = None,
    ) -> Answer:
        job = make_job(pipeline(schema, **{stage: hook}), warehouse, **(webhooks or {}))
        (target,) = job.pipeline.targets()
        return run_hook(job, target, target.hooks()[0], counts or {}, interruption or Interruption())

    return run_one


@pytest.fixture
def db(warehouse: Connection, schema: str) -> Iterator[psycopg.Connection]:
    """A session whose search path is the test's schema."""
    w = warehouse
    with connect_to(w, schema) as session:
        yield session


SETUP = """
CREATE TABLE t (id int PRIMARY KEY, a int);
INSERT INTO t VALUES (1, 1), (2, 2);
CREATE TABLE "My Table" (id int PRIMARY KEY);
CREATE SEQUENCE s;
CREATE MATERIALIZED VIEW mv AS SELECT count(*) AS n FROM t;
CREATE MATERIALIZED VIEW "My View" AS SELECT count(*) AS n FROM t;
CREATE UNIQUE INDEX my_view_n ON "My View" (n);
CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql SET search_path FROM CURRENT
  AS 'BEGIN INSERT INTO t SELECT max(id) + 1, 0 FROM t; RETURN 1; END';
CREATE FUNCTION lies() RETURNS int IMMUTABLE LANGUAGE plpgsql SET search_path FROM CURRENT
  AS 'BEGIN PERFORM writes(); RETURN 1; END';
CREATE PROCEDURE p() LANGUAGE sql SET search_path FROM CURRENT AS 'DELETE FROM t';
"""

TRACES = (
    "SELECT * FROM t ORDER BY id",
    "SELECT last_value, is_called FROM s",
    "SELECT n FROM mv",
    """SELECT c.relname, c.relkind, c.relacl::text, c.reloptions::text, obj_description(c.oid), a.attname
       FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND c.relkind <> 'i'
       WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1, 6""",
    "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1",
    "SELECT rulename FROM pg_rules WHERE schemaname = current_schema() ORDER BY 1",
)


@pytest.fixture
def things(db: psycopg.Connection) -> psycopg.Connection:
    db.execute(SETUP)
    return db


def traces_of(db: psycopg.Connection) -> list[Any]:
    """Return all that a statement could have changed in the schema. An object that is no longer readable counts as
    changed."""
    return [_read(db, query) for query in TRACES]


def _read(db: psycopg.Connection, query: str) -> Any:
    try:
        return db.execute(query).fetchall()
    except psycopg.Error as error:
        return type(error).__name__
