"""The server of the target crashes during a run: staged rows are lost, which must not count as an empty source."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from executors.errors import Transient
from executors.model import Connection
from flowapp.embedded.ports import free_port
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import ensure_warehouse
from tests.executors.conformance.world import World, reconciles

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def own_world(tmp_path: Path, spark: object) -> Iterator[World]:
    """A world on a server of its own, which can crash."""
    # Outside of pytest's folders: root runs the server as another user, who needs access to the folder.
    home = Path(tempfile.mkdtemp(prefix="flow-crash-"))
    home.chmod(0o711)
    (home / "postgres.port").write_text(str(free_port()))
    with Services.start(home, ["postgres"]) as services:
        warehouse = Connection("warehouse", **ensure_warehouse(services.addresses, "crash"))
        yield World(tmp_path / "files", warehouse, "public")
    shutil.rmtree(home, ignore_errors=True)


def crash(world: World) -> None:
    """Kill a backend. PostgreSQL then ends all sessions, recovers, and empties every UNLOGGED table."""
    w = world.warehouse
    with psycopg.connect(host=w.host, port=w.port, dbname=w.database, user=w.user, password=w.password) as c:
        os.kill(c.info.backend_pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while True:
        time.sleep(0.1)
        try:
            world.sql("select 1")
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "the server did not come back"
            continue
        return


@pytest.mark.parametrize("mode", ["append", "truncate", "upsert", "blue_green", "incremental_watermark"])
@pytest.mark.parametrize("step", ["check", "load"])
def test_a_server_that_crashes_after_staging_gives_no_green_run(own_world: World, mode: str, step: str) -> None:
    own_world.sql("create table t (id int primary key, name text); insert into t values (0, 'old')")
    own_world.write("a", "id,name\n1,Ann\n2,Bob\n")
    document = own_world.document(mode=mode)
    own_world.memory.on_step = lambda name, node: crash(own_world) if name == step else None
    with pytest.raises(Transient):
        own_world.run(document)
    assert own_world.rows("id") == [(0,)]
    own_world.memory.on_step = lambda name, node: None
    report = own_world.run(document, attempt=2)
    assert own_world.rows("id") == ([(1,), (2,)] if mode in ("truncate", "blue_green") else [(0,), (1,), (2,)])
    assert reconciles(report)
