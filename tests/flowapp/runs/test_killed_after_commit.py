"""Workers killed between the commit of a load in the target and the end of its run in the control database, at every
change in between: the next attempt finishes the run, and loads nothing again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.staging import sweep_leftovers
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from flowapp.quarantine.counts import count_violations
from flowapp.runs.dispatch import execute_claimed, run_inline
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit, UnitRun
from flowapp.runs.models import LOADED, CommitRecord, Run, State, Trigger
from flowapp.runs.row_balance import row_balance_of
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run
from tests.databases import connect_to
from tests.flowapp.runs.kill_points import KillPoints
from tests.flowapp.runs.killed_run import KilledRun

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.spark,
    pytest.mark.usefixtures("redis_url"),
]

END = (
    "runs_noderun runs_rulecount quarantine_violationgroup quarantine_violationtotal runs_loadunit runs_unitrun"
    " alerts_alert"
)
FILES = (
    *["target flow_staging"] * 3,
    "runs_commitrecord schema_changes_columnchange",
    *["runs_noderun"] * 3,
    "runs_runlog",
    "runs_run",
    "target numbers",
    "runs_runlog",
    "target load_commits",
    "runs_commitrecord schema_changes_columnchange",
    "runs_run",
    *["file link", "file unlink"] * 2,
    "runs_loadunit runs_unitrun",
    "runs_run",
    END,
)
TABLE = (
    *["target flow_staging"] * 3,
    "runs_commitrecord watermarks_watermarkcopy schema_changes_columnchange",
    *["runs_noderun"] * 3,
    "runs_runlog",
    "runs_run",
    "target numbers",
    "runs_runlog",
    "target load_commits",
    "runs_commitrecord watermarks_watermarkcopy schema_changes_columnchange",
    "runs_run",
    "runs_run",
    END,
)
FINISHING = ("runs_run", "target fences", *FILES[3:])
"""What is changed after the commit, in order: the names of `KillPoints`. `runs_run` stores the step that begins."""


@pytest.fixture
def execute(warehouse: Connection, schema: str) -> Callable[..., list[tuple[Any, ...]]]:
    def call(statement: str, *values: object) -> list[tuple[Any, ...]]:
        with connect_to(warehouse) as conn:
            conn.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
            cursor = conn.execute(statement, values)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    return call


@pytest.fixture
def folder(settings, tmp_path: Path, connected) -> Path:
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / connected.slug / "in"
    folder.mkdir(parents=True)
    return folder


def with_rules(nodes: list[dict[str, Any]], schema: str) -> list[dict[str, Any]]:
    """Put a rule that rejects rows before the target, and a hook after the load."""
    source, load = nodes
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": [source["id"]],
        "rowLevel": [{"type": "notNull", "field": "name", "onFail": "skip"}],
        "quarantine": {"enabled": True, "table": f"{schema}.rejected"},
    }
    hook = {"type": "sql", "statement": f"ANALYZE {schema}.numbers"}
    return [source, check, {**load, "inputs": ["check"], "postHook": hook}]


@pytest.fixture
def files(connected, document, folder, execute, schema) -> Pipeline:
    """Two files whose rows have three good and two bad rows; claimed by moving them."""
    execute("create table numbers (id int, name text)")
    (folder / "a.csv").write_text("id,name\n1,a\n2,b\n3,\n")
    (folder / "b.csv").write_text("id,name\n4,d\n5,\n")
    source, load = document()["nodes"]
    folders = {"stagingFolder": ".doing", "successFolder": "done", "failureFolder": "failed"}
    source["config"] |= {"atomicity": folders}
    source["columns"].append({"name": "name", "type": "string"})
    nodes = with_rules([source, load], schema)
    return save_version(connected, json.dumps(document(nodes=nodes)), role="admin").pipeline


@pytest.fixture
def table(connected, document, execute, schema) -> Pipeline:
    """The same rows in a table, read above a watermark."""
    execute("create table numbers (id int, name text)")
    execute("create table source (id int, name text)")
    execute("insert into source values (1, 'a'), (2, 'b'), (3, null), (4, 'd'), (5, null)")
    load = document()["nodes"][1] | {"loadMode": "incremental_watermark", "watermarkColumn": "id"}
    config = {"table": {"schema": schema, "name": "source"}}
    source = {"id": "source", "kind": "source", "connector": "postgres", "connection": "warehouse", "config": config}
    nodes = with_rules([source, load], schema)
    return save_version(connected, json.dumps(document(nodes=nodes)), role="admin").pipeline


@pytest.fixture
def killed(warehouse, process_environment, settings) -> Callable[[Pipeline], KilledRun]:
    def queue(pipeline: Pipeline) -> KilledRun:
        # An alert that the run resolves at its end.
        raise_alert("run.failed", "error", "An earlier run failed.", "Nothing.", pipeline=pipeline)
        run = queue_run(pipeline, Trigger.MANUAL, send=False)
        return KilledRun(run, warehouse, process_environment | {"FLOW_FILES_ROOT": str(settings.FILES_ROOT)})

    return queue


@pytest.fixture
def assert_finished(execute, folder, warehouse):
    """Return a function that requires all that a run leaves behind, once."""

    def check(run: Run) -> None:
        assert execute("select id, name from numbers order by id") == [(1, "a"), (2, "b"), (4, "d")]
        assert execute("select count(*) from rejected") == [(2,)]
        assert staged(warehouse, run) == 0
        assert (run.state, run.lease_owner, run.lease_until) == (State.SUCCEEDED_WITH_WARNINGS, "", None)
        assert not run.may_have_committed
        (load,) = (node for node in run_document(run)["nodes"] if node["kind"] == "target")
        assert str(row_balance_of(load)) == "read 5 = loaded 3 + rejected 2 + filtered 0"
        assert CommitRecord.objects.filter(run=run).count() == 1
        assert [group["violations"] for group in count_violations(run.workspace, "pipeline", days=1)] == [2]
        assert not Alert.objects.exclude(state=AlertState.RESOLVED).exists()
        files = ["a.csv", "b.csv"] if LoadUnit.objects.exists() else []
        assert sorted(LoadUnit.objects.values_list("name", "state")) == [(f"in/{name}", "committed") for name in files]
        assert set(UnitRun.objects.values_list("state", flat=True)) <= {"committed"}
        assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == files
        assert sorted(path.name for path in folder.glob("done/*")) == files
        assert not list(folder.glob(".doing/*"))

    return check


def staged(warehouse: Connection, run: Run) -> int:
    """The staging tables that are left once those of dead attempts are dropped."""
    with connect(warehouse, autocommit=True) as session:
        sweep_leftovers(session, lambda run_id, attempt: run_id == str(run.pk))
        query = "select count(*) from pg_class where obj_description(oid, 'pg_class') like %s"
        return int(session.execute(query, [f"%{run.pk}%"]).fetchone()[0])


PIPELINES = {"files": FILES, "table": TABLE}
FAST = ("files", FILES.index("runs_loadunit runs_unitrun"))


def points_of(pipeline: str) -> list[Any]:
    return [
        pytest.param(
            pipeline, number, id=f"{pipeline} {number} {name}", marks=[pytest.mark.slow] * ((pipeline, number) != FAST)
        )
        for number, name in enumerate(PIPELINES[pipeline])
    ]


@pytest.mark.parametrize("name", PIPELINES)
def test_all_changes_after_a_commit_are_known(request, name, killed, assert_finished, settings):
    run = killed(request.getfixturevalue(name)).run
    with KillPoints(settings.FILES_ROOT).observed() as points:
        execute_claimed(claim_run(run.pk, "worker"))
    assert points.names == list(PIPELINES[name]), "a change is new: add it to the list, so that it is tested"
    run.refresh_from_db()
    assert_finished(run)


@pytest.mark.parametrize(("name", "point"), [*points_of("files"), *points_of("table")])
def test_a_worker_killed_after_the_commit_leaves_everything_once(request, name, point, killed, assert_finished):
    case = killed(request.getfixturevalue(name))
    case.kill(point)
    assert_finished(case.finish())
    assert (case.run.attempt, case.run.losses) == (2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_the_run_after_a_killed_one_loads_nothing_again(request, name, killed, execute, folder):
    pipeline = request.getfixturevalue(name)
    case = killed(pipeline)
    case.kill(PIPELINES[name].index("runs_runlog"))
    case.finish()
    (folder / "copy.csv").write_text("id,name\n1,a\n2,b\n3,\n")
    again = run_inline(pipeline)
    assert (again.state in LOADED, execute("select id from numbers order by id")) == (True, [(1,), (2,), (4,)])


@pytest.mark.slow
def test_all_changes_of_the_attempt_that_finishes_are_known(files, killed, assert_finished, settings):
    case = killed(files)
    case.kill(0)
    claim = claim_run(case.run.pk, "survivor")
    with KillPoints(settings.FILES_ROOT, has_committed=True).observed() as points:
        execute_claimed(claim)
    assert points.names == list(FINISHING), "a change is new: add it to the list, so that it is tested"


@pytest.mark.slow
@pytest.mark.parametrize("name", dict.fromkeys(FINISHING))
def test_a_second_worker_killed_while_it_finishes_leaves_everything_once(files, name, killed, assert_finished):
    case = killed(files)
    case.kill(0)
    case.kill(FINISHING.index(name))
    assert_finished(case.finish())
    assert (case.run.attempt, case.run.losses, case.run.finishing) == (3, 1, True)


@pytest.mark.slow
def test_a_run_whose_workers_are_all_killed_ends_with_its_load_and_the_next_run_archives(
    files, killed, execute, folder
):
    case = killed(files)
    for _ in range(3):
        case.kill(0)
    case.run.refresh_from_db()
    assert case.run.state in LOADED
    assert set(LoadUnit.objects.values_list("state", flat=True)) == {"committed"}

    again = run_inline(files)
    assert (again.state, again.nothing_new) == (State.SUCCEEDED, True)
    assert execute("select id, name from numbers order by id") == [(1, "a"), (2, "b"), (4, "d")]
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a.csv", "b.csv"]
    assert sorted(path.name for path in folder.glob("done/*")) == ["a.csv", "b.csv"]
    assert sorted(LoadUnit.objects.values_list("name", "state")) == [
        ("in/a.csv", "committed"),
        ("in/b.csv", "committed"),
    ]
