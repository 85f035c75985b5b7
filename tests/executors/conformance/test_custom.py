"""Custom transforms in whole runs: each row is loaded, rejected or filtered, whatever the module does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from executors.errors import Failure
from executors.node_preview.preview import preview_node
from executors.report import RunReport
from executors.runs.load import run_pipeline
from executors.runs.replay import replay_rows
from ir import parsePipelineIR
from tests.executors.conformance.test_node_previews import NodePreviewJob, after, results
from tests.executors.conformance.test_replays import fix, ids, rows_ref, states
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.wasm.modules import TRAP_AT_BOOM, code, echo, ref

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TRAPPING = echo(TRAP_AT_BOOM)
MODULES = {ref(content): code(content) for content in (TRAPPING, echo())}
SPARK = {"op": "derive", "columns": {"name": "upper(name)"}}
ROWS = 10_000
BAD = 6_173


def custom(content: bytes = TRAPPING, names: tuple[str, ...] = ("name",), **more: Any) -> dict[str, Any]:
    columns = [{"name": name, "type": "string"} for name in names if name != "_error"]
    return {"op": "custom", "module": ref(content), "fields": list(names), "columns": columns, **more}


def run(world: World, document: Mapping[str, Any], modules: Mapping[str, Any] = MODULES) -> RunReport:
    return run_pipeline(world.job(document, modules=modules), world.memory.ports())


def write_rows(world: World) -> None:
    names = ["boom" if n == BAD else f"name {n}" for n in range(1, ROWS + 1)]
    world.write("a.csv", "id,name\n" + "".join(f"{n},{name}\n" for n, name in enumerate(names, 1)))


@pytest.mark.parametrize("way", ["fused", pytest.param("through-spark", marks=pytest.mark.slow)])
def test_the_one_row_for_which_a_module_fails_is_in_quarantine(world: World, way: str) -> None:
    world.sql("create table t (id int, name text)")
    write_rows(world)
    ops = [{"op": "filter", "where": "id % 10 <> 0"}, custom(), *([SPARK] if way != "fused" else [])]
    report = run(world, world.document(ops=ops, columns=[{"name": "id", "type": "integer"}]))
    target = target_of(report)
    assert (target.rows_read, target.rows_loaded, target.rows_rejected) == (ROWS, ROWS - ROWS // 10 - 1, 1)
    assert target.rows_filtered == ROWS // 10
    assert reconciles(report)
    found = world.sql("""select "sourceRecord", "ruleId", message, "row"->>'name' from rejected""")
    assert found == [(BAD, "custom", "makes the module tested fail: it stopped itself", "boom")]
    bad = world.sql("select count(*) from t where upper(name) <> upper('name ' || id)")
    assert bad == [(0,)]


@pytest.mark.slow
def test_a_row_is_replayed_through_the_module_after_a_fix(world: World) -> None:
    world.sql("create table t (id text, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,boom\n")
    document = world.document(ops=[custom()])
    run(world, document)
    job = world.job(document, rows=rows_ref(world, ids(world)), modules=MODULES)
    assert replay_rows(job, world.memory.ports()).row_counts == {"fails": 1}
    fix(world, name="Bob")
    job = world.job(document, rows=rows_ref(world, ids(world)), modules=MODULES)
    assert replay_rows(job, world.memory.ports()).row_counts == {"loaded": 1}
    assert world.rows() == [("1", "Ann"), ("2", "Bob")]
    assert states(world)[0][0] != "open"


@pytest.mark.slow
def test_a_preview_shows_the_rows_and_why_one_is_rejected(world: World) -> None:
    world.sql("create table t (id text, name text)")
    world.write("a.csv", "id,name,_error\n1,Ann,\n2,Bob,is unknown\n3,boom,\n")
    ops = [custom(echo(TRAP_AT_BOOM), ("name", "_error")), {"op": "drop", "columns": ["_error"]}]
    pipeline = parsePipelineIR(world.document(ops=ops)).pipeline
    job = NodePreviewJob("p", pipeline, "shape", "first", {"warehouse": world.warehouse}, world.folder, modules=MODULES)
    shown = preview_node(job, world.memory)
    assert results(shown) == {1: "passed", 2: "rejected", 3: "rejected"}
    assert after(shown)[0] == {"id": "1", "name": "Ann"}
    why = {row.record: [v.message for v in row.violations] for row in shown.rows}
    assert why[2] == ["is rejected by the module tested: is unknown"]
    assert why[3] == ["makes the module tested fail: it stopped itself"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["integer", "decimal(12,3)", "date", "timestamptz", "time", "json", "boolean", "float"]
)
def test_values_of_every_type_pass_a_module_unchanged(world: World, kind: str) -> None:
    values = {
        "integer": ["-7", ""],
        "decimal(12,3)": ["12.345", ""],
        "date": ["0044-03-15", "2024-02-29"],
        "timestamptz": ["2024-02-29T12:00:00.123456Z", ""],
        "time": ["23:59:59.5", ""],
        "json": ["[1.50]", ""],
        "boolean": ["true", "false"],
        "float": ["1e300", "NaN"],
    }[kind]
    names = {"decimal(12,3)": "numeric(12,3)", "json": "jsonb", "float": "float8"}
    world.sql(f"create table t (id text, plain {names.get(kind, kind)}, x {names.get(kind, kind)})")
    world.write("a.csv", "id,plain,x\n" + "".join(f"{n},{v},{v}\n" for n, v in enumerate(values)))
    op = {**custom(echo(), ("x",)), "columns": [{"name": "x", "type": kind}]}
    report = run(world, world.document(ops=[{"op": "cast", "columns": {"x": kind, "plain": kind}}, op]))
    assert target_of(report).rows_loaded == 2
    assert reconciles(report)
    assert world.sql("select count(*) from t where plain::text is distinct from x::text") == [(0,)]


@pytest.mark.slow
def test_a_module_that_is_missing_or_does_not_fit_fails_before_anything_is_read(world: World) -> None:
    world.write("a.csv", "id,name\n1,Ann\n")
    for op, modules, expected in [
        (custom(), {}, "custom.module_missing"),
        (custom(names=("name", "id")) | {"columns": [{"name": "other", "type": "date"}]}, MODULES, "custom.schema"),
    ]:
        with pytest.raises(Failure) as failed:
            run(world, world.document(ops=[op]), modules)
        assert (failed.value.code, failed.value.node) == (expected, "shape")
        assert world.sql("select to_regclass('t'), to_regclass('rejected')") == [(None, None)]
