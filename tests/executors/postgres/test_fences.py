"""Fences only increase, and an older attempt cannot hold one forever."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from executors.errors import LeaseLost, TargetBusy
from executors.load_record import RunRef
from executors.postgres import fences
from executors.postgres.client import connect
from executors.postgres.fences import raise_fence, require_fence
from tests.executors.postgres.conftest import TENANT
from tests.roles import new_role

pytestmark = pytest.mark.postgres


@pytest.fixture(autouse=True)
def short_wait(monkeypatch):
    monkeypatch.setattr(fences, "WAIT", "200ms")


def run_of(schema: str, token: int) -> RunRef:
    return RunRef(str(uuid.uuid4()), TENANT, schema, "load", 1, token)


def test_a_fence_only_rises(conn, schema):
    raise_fence(conn, TENANT, schema, "load", 3)
    raise_fence(conn, TENANT, schema, "load", 3)
    raise_fence(conn, TENANT, schema, "load", 5)
    with pytest.raises(LeaseLost):
        raise_fence(conn, TENANT, schema, "load", 4)
    assert conn.execute("SELECT token FROM flow_meta.fences WHERE pipeline = %s", [schema]).fetchall() == [(5,)]


def test_fences_of_other_nodes_and_tenants_are_apart(conn, schema):
    raise_fence(conn, TENANT, schema, "load", 3)
    raise_fence(conn, TENANT, schema, "other", 1)
    raise_fence(conn, str(uuid.UUID(int=8)), schema, "load", 1)


def test_an_older_attempt_that_is_frozen_in_its_load_is_ended(conn, warehouse, schema):
    raise_fence(conn, TENANT, schema, "load", 1)
    with closing(connect(warehouse)) as frozen:
        require_fence(frozen, run_of(schema, 1))
        raise_fence(conn, TENANT, schema, "load", 2)
        with pytest.raises(psycopg.OperationalError):
            frozen.execute("SELECT 1")


def test_an_older_attempt_is_ended_in_the_middle_of_a_statement(conn, warehouse, schema):
    raise_fence(conn, TENANT, schema, "load", 1)
    with closing(connect(warehouse)) as loading:
        require_fence(loading, run_of(schema, 1))
        loading.pgconn.send_query(b"SELECT pg_sleep(60)")
        raise_fence(conn, TENANT, schema, "load", 2)
    query = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'"
    assert conn.execute(query).fetchone() == (0,)


def test_a_newer_attempt_is_never_ended(conn, warehouse, schema):
    raise_fence(conn, TENANT, schema, "load", 5)
    with connect(warehouse) as newer:
        require_fence(newer, run_of(schema, 5))
        with pytest.raises((LeaseLost, TargetBusy)):
            raise_fence(conn, TENANT, schema, "load", 4)
        assert newer.execute("SELECT 1").fetchone() == (1,)


def test_the_loads_of_other_pipelines_are_never_ended(conn, warehouse, schema):
    raise_fence(conn, TENANT, schema, "load", 1)
    raise_fence(conn, TENANT, f"{schema}-2", "load", 1)
    with closing(connect(warehouse)) as mine, connect(warehouse) as other:
        require_fence(mine, run_of(schema, 1))
        require_fence(other, run_of(f"{schema}-2", 1))
        raise_fence(conn, TENANT, schema, "load", 2)
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_load_of_another_role_is_waited_for(conn, server, warehouse, schema):
    raise_fence(conn, TENANT, schema, "load", 1)
    other = replace(warehouse, user=f"other_{schema}", password="x")
    role = sql.Identifier(other.user)
    here = replace(server, database=warehouse.database)
    with connect(here, autocommit=True) as admin, new_role(admin, other.user, other.password):
        conn.execute(sql.SQL("GRANT USAGE ON SCHEMA flow_meta TO {}").format(role))
        conn.execute(sql.SQL("GRANT SELECT, UPDATE ON flow_meta.fences TO {}").format(role))
        with connect(other) as loading:
            require_fence(loading, run_of(schema, 1))
            with pytest.raises(TargetBusy):
                raise_fence(conn, TENANT, schema, "load", 2)
            assert loading.execute("SELECT 1").fetchone() == (1,)
