"""A load of two sources, killed or cut off at each step: the rows of both are in the table, or of none."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from tests.executors.conformance.world import World, target_of
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.hitting import (
    COMMITTED,
    IN_PASS,
    IN_TRANSACTION,
    Attempt,
    hit,
    killed,
    session_ended,
    staged,
)
from tests.executors.faults.proxy import Relay

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

CASES = [
    *(("append", step, killed) for step in (IN_PASS, IN_TRANSACTION, AFTER_COMMIT)),
    *(("append", step, session_ended) for step in ("scan", "probe", "pass", "refuse", "guard", "load")),
    *((mode, IN_TRANSACTION, session_ended) for mode in ("truncate", "blue_green")),
]
"""Every mode goes through the matrix with one source; here each step has two, of which both or none are loaded."""
MOVED = {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}
SAME = "id,name\n1,new\n2,new\n,nobody\n"
"""The file of both sources: only the source tells its rows apart."""


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    with closing(connect(warehouse, autocommit=True)) as conn:
        ensure_meta(conn)
    world.sql("create table t (id int, name text)")
    world.sql("insert into t values (9, 'old')")
    return world


def union_of(world: World, mode: str) -> dict[str, Any]:
    """Return a document that unites the files of two folders. Those of one are moved, unless all are read each time."""
    rules = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    document = world.document(mode=mode, rules=rules, ops=[{"op": "union"}])
    source, shape, *others = document["nodes"]
    sources = []
    for name in ("north", "south"):
        (world.folder / name).mkdir()
        (world.folder / name / f"{name}.csv").write_text(SAME)
        config = {**source["config"], "path": name, "pattern": {"type": "glob", "value": "*.csv"}}
        if mode == "append" and name == "south":
            config |= {"atomicity": MOVED, "waitPolicy": {"settleSeconds": 0, "onMissAction": "skip"}}
        sources.append({**source, "id": name, "config": config})
    return {**document, "nodes": [*sources, {**shape, "inputs": ["north", "south"]}, *others]}


@pytest.mark.parametrize(("mode", "step", "fault"), CASES, ids=lambda part: getattr(part, "__name__", part))
def test_a_rerun_loads_the_rows_of_each_source_once(
    world: World, mode: str, step: str, fault: Callable[[Attempt, Relay], None]
) -> None:
    document, run_id = union_of(world, mode), str(uuid.uuid4())
    old = [(9, "old")]
    new = sorted([(1, "new"), (2, "new")] * 2 + (old if mode == "append" else []))

    hit(world, document, step, fault, run_id=run_id)

    committed = step in COMMITTED
    assert sorted(world.rows()) == (new if committed else old)

    report = world.run(document, run_id=run_id, attempt=2)

    assert sorted(world.rows()) == new
    assert {one.id: one.rows_in for one in report.nodes if one.kind == "source"} == {"north": 3, "south": 3}
    assert (target_of(report).rows_read, target_of(report).rows_loaded, target_of(report).rows_rejected) == (6, 4, 2)
    assert world.sql('select "sourceNode", count(*) from rejected group by 1 order by 1') == [
        ("north", 1),
        ("south", 1),
    ]
    assert staged(world, run_id) == 0
    if mode == "append":
        assert [path.name for path in (world.folder / "south" / ".done").iterdir()] == ["south.csv"]
    assert world.run(document).nothing_new
