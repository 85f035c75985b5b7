"""Flow's own tables: made once by the first process, fences that only increase, leftovers that are removed."""

from __future__ import annotations

import secrets
import threading
import uuid
from dataclasses import replace

import pytest
from psycopg import sql

from executors.errors import Failure, Terminal
from executors.model import StageColumn
from executors.postgres.client import connect
from executors.postgres.ddl import ddl
from executors.postgres.fences import raise_fence
from executors.postgres.meta import ensure_meta, last_files
from executors.postgres.staging import create_staging, drop_staging, staging_tables, sweep_leftovers
from ir.types import STRING
from tests.roles import new_role

TENANT = str(uuid.UUID(int=7))


@pytest.fixture
def fresh(server, warehouse):
    """A database without any objects of Flow."""
    name = f"flow_fresh_{secrets.token_hex(4)}"
    with connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(name), sql.Identifier(warehouse.user))
        )
        yield replace(warehouse, database=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_twenty_workers_at_once_make_the_tables_without_an_error(fresh):
    failures: list[BaseException] = []
    barrier = threading.Barrier(20, timeout=30)

    def work():
        try:
            with connect(fresh, autocommit=True) as session:
                barrier.wait()
                ensure_meta(session)
                raise_fence(session, TENANT, "p", "load", 1)
        except (Failure, threading.BrokenBarrierError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_nothing_of_ours_is_for_the_public(fresh, server):
    with connect(replace(server, database=fresh.database), autocommit=True) as admin:
        admin.execute(f"ALTER DEFAULT PRIVILEGES FOR ROLE {fresh.user} GRANT ALL ON TABLES TO PUBLIC")
        admin.execute(f"ALTER DEFAULT PRIVILEGES FOR ROLE {fresh.user} GRANT ALL ON SCHEMAS TO PUBLIC")
    with connect(fresh, autocommit=True) as session:
        ensure_meta(session)
        tables = staging_tables("r", "load", 1)
        create_staging(session, tables, [StageColumn("v", STRING)])
        granted = session.execute(
            "SELECT c.relname FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = 0"
            " AND c.relnamespace IN ('flow_meta'::regnamespace, 'flow_staging'::regnamespace)"
            " UNION ALL SELECT n.nspname FROM pg_namespace n, aclexplode(n.nspacl) a"
            " WHERE a.grantee = 0 AND n.nspname LIKE 'flow%'"
        ).fetchall()
    assert granted == []


def test_a_user_without_the_privilege_to_create_them_gets_the_grant_statement(fresh, server):
    role = f"flow_poor_{secrets.token_hex(4)}"
    poor = replace(fresh, user=role, password="x")
    with connect(server, autocommit=True) as admin, new_role(admin, role), connect(poor, autocommit=True) as session:
        with pytest.raises(Terminal, match=r"target\.forbidden") as raised:
            ensure_meta(session)
        assert f"GRANT CREATE, TEMPORARY ON DATABASE {fresh.database}" in raised.value.hint


def test_before_the_first_commit_there_are_no_last_files(conn, schema):
    assert last_files(conn, TENANT, schema, "load") is None


def test_ddl_inside_a_longer_transaction_is_refused(warehouse):
    with connect(warehouse) as session:
        session.execute("SELECT 1")
        with pytest.raises(RuntimeError), ddl(session):
            pass


def test_names_of_staging_tables_are_short_and_their_own():
    keys = [("run", "load", 1), ("run", "load", 2), ("run", "load-2", 1), ("run-load", "x" * 63, 1), ("é" * 99, "n", 1)]
    names = [name for key in keys for t in [staging_tables(*key)] for name in (t.good, t.rejects)]
    assert len(set(names)) == len(names)
    assert all(len(name.encode()) <= 63 for name in names)


def test_only_tables_of_dead_attempts_are_swept(conn):
    dead, live, unknown = (staging_tables(f"run-{i}", "load", i) for i in (1, 2, 3))
    for tables in (dead, live, unknown):
        create_staging(conn, tables, [StageColumn("v", STRING)])
    assert sweep_leftovers(conn, lambda run, attempt: (run, attempt) == ("run-1", 1)) == [dead.good, dead.rejects]
    remaining = {
        n for (n,) in conn.execute("SELECT relname FROM pg_class WHERE relnamespace = 'flow_staging'::regnamespace")
    }
    assert {live.good, live.rejects, unknown.good, unknown.rejects} <= remaining
    assert dead.good not in remaining
    for tables in (live, unknown):
        drop_staging(conn, tables)


def test_a_table_that_a_late_task_still_writes_is_left_for_the_next_sweep(conn, warehouse):
    tables = staging_tables("run-4", "load", 1)
    create_staging(conn, tables, [StageColumn("v", STRING)])
    with connect(warehouse) as late:
        late.execute(f"INSERT INTO flow_staging.{tables.good} (v) VALUES ('x')")
        assert sweep_leftovers(conn, lambda run, _: run == "run-4") == [tables.rejects]
    assert sweep_leftovers(conn, lambda run, _: run == "run-4") == [tables.good]
