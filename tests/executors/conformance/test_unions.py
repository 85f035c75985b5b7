"""The op union: the rows of several sources are loaded into one target as one load."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from executors.errors import ExpressionFailed, Failure, Terminal
from executors.holding import Held, StagedLoad
from executors.model import BackupRef, RowsRef
from executors.node_preview.model import NodePreview, NodePreviewJob
from executors.node_preview.preview import preview_node
from executors.report import NodeReport, RunReport
from executors.runs.fix import fix_rows
from executors.runs.load import run_pipeline
from executors.runs.recheck import recheck_rows
from executors.runs.replay import replay_rows
from executors.runs.restore import restore_pipeline
from executors.runs.sample import sample_pipeline
from ir import parsePipelineIR
from ir.stored_json import StoredJson
from tests.executors.conformance.test_custom import MODULES, custom
from tests.executors.conformance.world import World, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

COLUMNS = [{"name": "id", "type": "integer"}, {"name": "shop", "type": "string"}, {"name": "paid", "type": "integer"}]
TABLE = "create table t (id int primary key, shop text, paid int)"
RULES = [{"type": "range", "field": "paid", "min": 0, "onFail": "skip"}]
NORTH = "id,shop,paid\n1,north,10\n2,north,20\n"
SOUTH = "number,shop,paid\n3,south,30\n4,south,40\n5,closed,50\n"


def head(world: World, name: str, text: str | None = None, **config: Any) -> dict[str, Any]:
    """Return a source node for the files of a folder of its own, with one file if there is a text."""
    folder = world.folder / name
    folder.mkdir(exist_ok=True)
    if text is not None:
        (folder / f"{name}.csv").write_text(text)
    given = {"path": name, "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}
    return {
        "id": name,
        "kind": "source",
        "connector": "local_fs",
        "columns": COLUMNS,
        "config": {**given, "waitPolicy": WAIT, **config},
    }


def united(
    world: World, heads: Sequence[Mapping[str, Any]], inputs: Sequence[str], *ops: Mapping[str, Any], **document: Any
) -> dict[str, Any]:
    """Return the document of a world whose node `shape` unites nodes, followed by ops."""
    made = world.document(ops=[{"op": "union"}, *ops], **{"rules": RULES, **document})
    shape = next(node for node in made["nodes"] if node["id"] == "shape")
    shape["inputs"] = list(inputs)
    made["nodes"] = [*heads, *made["nodes"][1:]]
    return made


def shops(world: World, north: str | None = NORTH, south: str | None = SOUTH, **document: Any) -> dict[str, Any]:
    """Return the document of two sources, of which the second is renamed and filtered before the union."""
    columns = [{**COLUMNS[0], "name": "number"}, *COLUMNS[1:]]
    source = {**head(world, "south", south, **document.pop("south_config", {})), "columns": columns}
    ops = [{"op": "rename", "columns": {"number": "id"}}, {"op": "filter", "where": "shop <> 'closed'"}]
    renamed = {"id": "renamed", "kind": "transform", "inputs": ["south"], "ops": ops}
    heads = [head(world, "north", north, **document.pop("north_config", {})), source, renamed]
    return united(world, heads, ["north", "renamed"], **document)


def node_of(report: RunReport, node: str) -> NodeReport:
    return next(one for one in report.nodes if one.id == node)


def adds_up(report: RunReport) -> bool:
    """Return whether the rows of each source and of the target are all accounted for."""
    t = target_of(report)
    sources = [one for one in report.nodes if one.kind == "source"]
    taken = t.rows_filtered + t.rows_rejected + t.rows_replaced + t.rows_suppressed + t.rows_loaded
    before = node_of(report, "shape")
    return (
        sum(one.rows_read for one in sources) == t.rows_read == taken
        and before.rows_in == before.rows_out
        and all(
            one.rows_in == one.rows_out + (one.rows_filtered or 0) + (one.rows_rejected_here or 0)
            for one in report.nodes
            if one.kind != "target"
        )
    )


def look(world: World, document: Mapping[str, Any], node: str) -> NodePreview:
    job = NodePreviewJob(
        "p", parsePipelineIR(document).pipeline, node, "first", {"warehouse": world.warehouse}, world.folder
    )
    return preview_node(job, world.memory)


MODES = [
    pytest.param(mode, marks=[] if mode == "append" else [pytest.mark.slow])
    for mode in ("append", "upsert", "truncate", "blue_green")
]
WAIT = {"settleSeconds": 0, "onMissAction": "skip"}
SAME = "id,shop,paid\n1,x,10\n2,x,-1\n"
"""A file with a good row and a row that the rule rejects."""


@pytest.mark.parametrize("mode", MODES)
def test_the_rows_of_all_sources_are_loaded_in_each_mode(world: World, mode: str) -> None:
    world.create_table(TABLE)
    report = world.run(shops(world, mode=mode))
    assert world.rows() == [(1, "north", 10), (2, "north", 20), (3, "south", 30), (4, "south", 40)]
    assert adds_up(report)
    counts = {one.id: (one.rows_in, one.rows_out) for one in report.nodes}
    assert counts == {
        "north": (2, 2),
        "south": (3, 3),
        "renamed": (3, 2),
        "shape": (4, 4),
        "check": (4, 4),
        "load": (4, 4),
    }


# --- what is new --------------------------------------------------------------------------------------------------


def twins(world: World, north: str | None = SAME, south: str | None = SAME, **document: Any) -> dict[str, Any]:
    """Return the document of two sources with the same columns."""
    world.create_table("create table if not exists t (id int, shop text, paid int)")
    heads = [head(world, "north", north), head(world, "south", south)]
    return united(world, heads, ["north", "south"], **document)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_equal_files_of_two_sources_are_two_files(world: World, mode: str) -> None:
    """Each is loaded once, and each of their rejected rows is known by itself."""
    document = twins(world, mode=mode)
    report = world.run(document)
    assert world.rows() == [(1, "x", 10), (1, "x", 10)]
    assert adds_up(report)
    assert world.sql('select count(distinct "rowId"), array_agg("sourceNode" order by "sourceNode") from rejected') == [
        (2, ["north", "south"])
    ]
    again = world.run(document)
    assert again.nothing_new
    assert again.nothing_new_reason == (
        "north: Every matching file (1) is loaded already. south: Every matching file (1) is loaded already."
    )


@pytest.mark.slow
def test_a_file_that_one_source_has_loaded_is_new_to_another(world: World) -> None:
    document = twins(world, south=None)
    world.run(document)
    (world.folder / "south" / "late.csv").write_text(SAME)
    report = world.run(document)
    assert world.rows() == [(1, "x", 10), (1, "x", 10)]
    assert {one.id: one.rows_in for one in report.nodes if one.kind == "source"} == {"north": 0, "south": 2}
    assert adds_up(report)
    assert world.run(document).nothing_new


@pytest.mark.slow
def test_a_renamed_source_has_loaded_its_files(world: World) -> None:
    document = twins(world, south="id,shop,paid\n3,y,30\n")
    world.run(document)
    document["nodes"][0]["id"] = "upper"
    next(node for node in document["nodes"] if node["id"] == "shape")["inputs"] = ["upper", "south"]
    assert world.run(document).nothing_new
    assert world.rows("id") == [(1,), (3,)]


@pytest.mark.slow
def test_files_that_were_loaded_before_the_union_are_not_loaded_again(world: World) -> None:
    document = twins(world, south=None)
    alone = {**document, "nodes": [node for node in document["nodes"] if node["id"] not in ("south", "shape")]}
    alone["nodes"] = [{**n, "inputs": ["north"]} if n["id"] == "check" else n for n in alone["nodes"]]
    world.run(alone)
    (world.folder / "south" / "s.csv").write_text(SAME)
    world.run(document)
    assert world.rows("id") == [(1,), (1,)]


@pytest.mark.slow
@pytest.mark.parametrize("action", ["skip", "alert", "fail"])
def test_a_target_that_replaces_its_rows_reads_all_sources_or_none(world: World, action: str) -> None:
    world.create_table(TABLE)
    world.sql("insert into t values (9, 'old', 9)")
    policy = {"waitPolicy": {"settleSeconds": 0, "onMissAction": action}}
    moved = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
    document = shops(world, north=None, mode="truncate", north_config=policy, south_config=moved)
    with pytest.raises(Terminal) as failure:
        world.run(document)
    assert failure.value.code == ("source.no_files" if action == "fail" else "union.source_missing")
    assert world.rows() == [(9, "old", 9)]
    assert [path.name for path in (world.folder / "south").iterdir() if path.is_file()] == ["south.csv"]
    (world.folder / "north" / "north.csv").write_text(NORTH)
    world.run(document)
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]


@pytest.mark.slow
def test_a_new_file_of_one_source_replaces_the_rows_of_all(world: World) -> None:
    world.create_table(TABLE)
    document = shops(world, mode="truncate")
    world.run(document)
    assert world.run(document).nothing_new
    (world.folder / "north" / "more.csv").write_text("id,shop,paid\n7,north,70\n")
    report = world.run(document)
    assert world.rows("id") == [(1,), (2,), (3,), (4,), (7,)]
    assert adds_up(report)


@pytest.mark.slow
@pytest.mark.parametrize("north", ["", "id,shop,paid\n", "id,shop,paid\n1,x,-1\n"])
def test_a_source_of_which_no_row_is_left_does_not_empty_its_part_of_the_table(world: World, north: str) -> None:
    world.create_table(TABLE)
    world.sql("insert into t values (9, 'old', 9)")
    with pytest.raises(Failure) as failure:
        world.run(shops(world, north=north, mode="truncate"))
    assert failure.value.code == ("rows.too_many_rejected" if "-1" in north else "source.empty"), failure.value.code
    assert world.rows() == [(9, "old", 9)]
    world.run(shops(world, north=north, mode="truncate", failOnEmptySource=False, failAtRejectedPct=0))
    assert world.rows("id") == [(3,), (4,)]


@pytest.mark.slow
def test_blank_files_of_all_sources_load_nothing(world: World) -> None:
    report = world.run(twins(world, north="", south=""))
    assert (world.rows(), target_of(report).rows_loaded) == ([], 0)
    assert {w.node for w in report.warnings if w.code == "source.blank"} == {"north"}


@pytest.mark.slow
def test_of_two_rows_of_a_key_a_column_decides_which_one_is_newer(world: World) -> None:
    """The sources have no order among them."""
    document = twins(world, "id,shop,paid\n1,x,30\n", "id,shop,paid\n1,y,20\n", mode="upsert")
    world.sql("alter table t add primary key (id)")
    with pytest.raises(Failure) as failure:
        world.run(document)
    assert failure.value.code == "upsert.key_repeated"
    document["nodes"][-1]["orderBy"] = "paid"
    world.run(document)
    assert world.rows() == [(1, "x", 30)]


# --- where rows meet ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("south", "ops", "code", "message"),
    [
        ("id,shop\n3,s\n", [], "union.column_missing", "the rows of south have no column 'paid'"),
        (
            "id,shop,paid,more\n3,s,1,m\n",
            [],
            "union.column_missing",
            "the rows of the first input have no column 'more'",
        ),
        (
            "id,shop,paid\n3,s,1\n",
            [{"op": "cast", "columns": {"paid": "bigint"}}],
            "union.column_type",
            "column 'paid' is bigint in the rows of south, but string in those of the first input.",
        ),
    ],
)
def test_columns_that_differ_are_refused_before_anything_is_staged(
    world: World, south: str, ops: list[dict[str, Any]], code: str, message: str
) -> None:
    world.create_table("create table t (id text, shop text, paid text)")
    heads: list[dict[str, Any]] = [head(world, "north", NORTH), head(world, "south", south)]
    for one in heads:
        del one["columns"]
    cast = {"id": "cast", "kind": "transform", "inputs": ["south"], "ops": ops}
    document = united(world, [*heads, *([cast] if ops else [])], ["north", "cast" if ops else "south"], rules=[])
    with pytest.raises(Terminal) as failure:
        world.run(document)
    assert (failure.value.code, failure.value.node) == (code, "shape")
    assert message in failure.value.message
    assert "pass" not in [step for step, _ in world.memory.steps]


@pytest.mark.slow
def test_columns_meet_by_name_in_any_order(world: World) -> None:
    world.create_table(TABLE)
    document = twins(world, north="id,shop,paid\n1,x,10\n", south="paid,id,shop\n20,2,y\n")
    for node in document["nodes"][:2]:
        del node["columns"]
    world.run(document)
    assert world.rows() == [(1, "x", 10), (2, "y", 20)]


# --- ops before and after -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ops_before_and_after_the_union(world: World) -> None:
    """Each source has an op of its own kind; join and derive come after the union. A join counts the rows of all."""
    world.create_table("create table t (id int, shop text, paid int, name text, twice int)")
    lines = 'id,items\n5,"[{""shop"":""e"",""paid"":1},{""shop"":""e"",""paid"":2}]"\n'
    exploded = {**head(world, "exploded", lines), "columns": [COLUMNS[0]]}
    explode = {"op": "explode", "field": "items", "as": "item", "type": "json"}
    flatten = {"op": "flatten", "field": "item", "prefix": "", "columns": {"$.shop": "string", "$.paid": "integer"}}
    flatten |= {"onMissing": "null", "onUnknown": "ignore"}
    chain = {"id": "split", "kind": "transform", "inputs": ["exploded"], "ops": [explode, flatten]}
    chain["ops"].append({"op": "drop", "columns": ["items", "item"]})
    ids = [{"name": "key", "type": "string"}, {"name": "name", "type": "string"}]
    names = {**head(world, "names", "key,name\nx,Ex\ne,Ee\n"), "columns": ids}
    first = {"id": "first", "kind": "transform", "inputs": ["north"]}
    first["ops"] = [{"op": "deduplicate", "keys": ["id"]}]
    north = head(world, "north", "id,shop,paid\n1,x,10\n1,x,20\n2,y,30\n")
    document = united(world, [north, first, exploded, chain], ["first", "split"])
    join = {"op": "join", "with": "names", "type": "left", "on": {"shop": "key"}, "columns": {"name": "name"}}
    after = {"id": "after", "kind": "transform", "inputs": ["shape", "names"]}
    after["ops"] = [join, {"op": "derive", "columns": {"twice": "paid * 2"}}]
    document["nodes"] += [names, after]
    next(node for node in document["nodes"] if node["id"] == "check")["inputs"] = ["after"]
    report = world.run(document)
    assert sorted(world.rows()) == [
        (1, "x", 20, "Ex", 40),
        (2, "y", 30, None, 60),
        (5, "e", 1, "Ee", 2),
        (5, "e", 2, "Ee", 4),
    ]
    (counted,) = node_of(report, "after").joins
    assert (counted.matched, counted.unmatched) == (3, 1)
    assert (node_of(report, "shape").rows_in, target_of(report).rows_read, target_of(report).rows_exploded) == (4, 4, 1)
    shown = look(world, document, "shape")
    assert (shown.rows_in, shown.unit_in, shown.unit_out, shown.unit_rejected) == (4, "row", "row", "record")
    assert look(world, document, "first").unit_rejected == "row"


@pytest.mark.slow
def test_a_module_gets_the_rows_of_its_source_alone(world: World) -> None:
    world.create_table(TABLE)
    north, south = "id,shop,paid\n1,x,10\n2,boom,20\n", "id,shop,paid\n3,boom,30\n4,z,40\n"
    module = custom(names=("shop",))
    computed = {"id": "computed", "kind": "transform", "inputs": ["south"], "ops": [module]}
    heads = [head(world, "north", north), head(world, "south", south), computed]
    document = united(world, heads, ["north", "computed"])
    report = run_pipeline(world.job(document, modules=MODULES), world.memory.ports())
    assert world.rows() == [(1, "x", 10), (2, "boom", 20), (4, "z", 40)]
    assert adds_up(report)
    assert world.sql('select "sourceNode", "nodeId", "ruleId" from rejected') == [("south", "computed", "custom")]


@pytest.mark.slow
def test_an_expression_that_fails_in_one_source_ends_the_load(world: World) -> None:
    document = twins(world, south="id,shop,paid\n5,y,0\n")
    shape = next(node for node in document["nodes"] if node["id"] == "shape")
    shape["ops"].append({"op": "derive", "columns": {"paid": "CAST(100 / paid AS INT)"}})
    with pytest.raises(ExpressionFailed) as failure:
        world.run(document)
    assert "south.csv" in failure.value.message
    assert world.rows() == []
    assert world.sql('select "sourceNode", "nodeId", disposition from rejected order by 1, 2') == [
        ("north", "check", "not_loaded"),
        ("south", "shape", "not_loaded"),
    ]


@pytest.mark.slow
def test_a_row_that_is_rejected_anyway_does_not_end_the_load(world: World) -> None:
    """The expression fails for a row of the second source that a cast rejects. Its columns have another order."""
    world.create_table(TABLE)
    document = twins(world, "id,shop,paid\n1,x,10\n", "paid,shop,id\n50,y,5\n0,z,six\n", onTypeMismatch="skip")
    source = next(node for node in document["nodes"] if node["id"] == "south")
    source["columns"] = COLUMNS[::-1]
    shape = next(node for node in document["nodes"] if node["id"] == "shape")
    shape["ops"].append({"op": "derive", "columns": {"paid": "CAST(100 / paid AS INT)"}})
    report = world.run(document)
    assert world.rows() == [(1, "x", 10), (5, "y", 2)]
    assert adds_up(report)


# --- rejected rows ------------------------------------------------------------------------------------------------


def replayed(world: World, document: dict[str, Any], do: Any, **more: Any) -> RunReport:
    ids = [row[0] for row in world.sql("select id from rejected where status = 'open' order by id")]
    ref = RowsRef("load", more.pop("row_from", "source"), [(world.schema, "rejected", ids)], **more)
    return do(world.job(document, rows=ref), world.memory.ports())


@pytest.mark.slow
def test_rejected_rows_are_replayed_through_the_path_of_their_source(world: World) -> None:
    """The files have the same rows at the same places, but the columns of the sources have other names."""
    world.create_table(TABLE)
    north, south = "id,shop,paid\n1,north,10\n2,north,-1\n", "number,shop,paid\n3,south,10\n4,south,-1\n"
    document = shops(world, north, south)
    world.run(document)
    assert world.rows("id") == [(1,), (3,)]
    assert world.sql('select "sourceNode", "row"->>\'id\', "row"->>\'number\' from rejected order by 1') == [
        ("north", "2", None),
        ("south", None, "4"),
    ]
    assert replayed(world, document, recheck_rows).row_counts == {"fails": 2}
    fixed = replayed(world, document, fix_rows, column="paid", expression="-paid", by="ann")
    assert fixed.row_counts == {"fixed": 2}
    ids = "update rejected set status = 'open' where status = 'fixed'"
    world.sql(ids)
    report = replayed(world, document, replay_rows)
    assert report.row_counts == {"loaded": 2}
    assert world.rows() == [(1, "north", 10), (2, "north", 1), (3, "south", 10), (4, "south", 1)]


@pytest.mark.slow
def test_a_row_that_the_table_refuses_leads_to_its_source(world: World) -> None:
    world.create_table("create table t (id int, shop text, paid int check (paid < 50))")
    both = "id,shop,paid\n1,x,10\n2,x,99\n"
    document = twins(world, both, both, rules=[], onTypeMismatch="skip")
    report = world.run(document)
    assert adds_up(report)
    assert world.sql('select "sourceNode", "rowFrom", "sourceRecord" from rejected order by 1') == [
        ("north", "input", 2),
        ("south", "input", 2),
    ]
    world.sql("alter table t drop constraint t_paid_check")
    assert replayed(world, document, replay_rows, row_from="input").row_counts == {"loaded": 2}
    assert world.rows("id") == [(1,), (1,), (2,), (2,)]


@pytest.mark.slow
def test_a_source_whose_rows_are_all_rejected_ends_the_load(world: World) -> None:
    with pytest.raises(Failure) as failure:
        world.run(twins(world, south="id,shop,paid\n5,y,-1\n"))
    assert failure.value.code == "rows.too_many_rejected", failure.value.code
    assert world.rows() == []


@pytest.mark.slow
def test_rows_of_a_file_that_is_read_again_are_superseded_for_their_source_alone(world: World) -> None:
    document = twins(world)
    world.run(document)
    (sha256,) = set(world.memory.states)
    world.memory.forgotten_tokens = {sha256: 1}
    (world.folder / "south" / "south.csv").unlink()
    world.run(document)
    assert world.sql('select "sourceNode", status from rejected order by id') == [
        ("north", "superseded"),
        ("south", "open"),
        ("north", "open"),
    ]


# --- held loads, previews and samples -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_held_load_is_loaded_from_what_was_staged(world: World) -> None:
    world.create_table(TABLE)
    world.sql("insert into t select n, 'old', n from generate_series(11, 30) n")
    moved = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
    document = shops(world, mode="truncate", hold={"maxDecreasePct": 50}, north_config=moved)
    run_id = str(uuid.uuid4())
    with pytest.raises(Held) as held:
        world.run(document, run_id=run_id)
    stored = StoredJson("staged load", StagedLoad, 1)
    approved = {"load": stored.load(json.loads(json.dumps(stored.dump(held.value.staged))))}
    report = run_pipeline(world.job(document, run_id, 2, approved=approved), world.memory.ports())
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]
    assert adds_up(report)
    assert [path.name for path in (world.folder / "north" / ".done").iterdir()] == ["north.csv"]


@pytest.mark.slow
def test_a_preview_counts_what_a_run_would_load(world: World) -> None:
    world.create_table(TABLE)
    report = world.preview(shops(world, mode="truncate"))
    assert (report.effects[0].after, world.rows()) == (4, [])
    assert {one.id: one.rows_in for one in report.nodes if one.kind == "source"} == {"north": 2, "south": 3}


@pytest.mark.slow
def test_a_preview_of_the_node_shows_the_rows_of_all_sources(world: World) -> None:
    world.create_table(TABLE)
    document = shops(world)
    shown = look(world, document, "shape")
    assert [(row.file, row.record) for row in shown.rows] == [
        ("north: north/north.csv", 1),
        ("north: north/north.csv", 2),
        ("south: south/south.csv", 1),
        ("south: south/south.csv", 2),
    ]
    assert (shown.rows_read, shown.rows_in, shown.rows_out) == (5, 4, 4)
    assert [(c.name, c.values) for c in shown.after] == [("id", 4), ("shop", 4), ("paid", 4)]
    assert shown.extent.startswith("north: All 2 rows")
    assert "south: All 3 rows" in shown.extent
    own = look(world, document, "renamed")
    assert ([row.file for row in own.rows], own.rows_filtered) == (["south/south.csv"] * 3, 1)
    assert [row.after for row in look(world, document, "load").rows][-1] == (4, "south", 40)


@pytest.mark.slow
def test_a_sample_has_rows_of_all_sources(world: World) -> None:
    world.create_table(TABLE)
    sample_pipeline(world.job(shops(world)), world.memory.ports())
    sampled = world.sql(
        "select source_file, count(*) from flow_meta.samples where tenant = %s group by 1 order by 1", world.tenant
    )
    assert sampled == [("north/north.csv", 2), ("south/south.csv", 2)]


# --- files, databases, restores -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_failing_row_moves_the_files_of_its_source_alone_if_the_node_is_its_own(world: World) -> None:
    world.create_table(TABLE)
    moved = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
    document = shops(world, north_config=moved, south_config=moved)
    renamed = next(node for node in document["nodes"] if node["id"] == "renamed")
    renamed["ops"].append({"op": "derive", "columns": {"paid": "CAST(100 / (paid - 30) AS INT)"}})
    with pytest.raises(Failure) as failure:
        world.run(document)
    assert failure.value.node == "renamed"
    assert [path.name for path in (world.folder / "south" / ".failed").iterdir()] == ["south.csv"]
    assert (world.folder / "north" / "north.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["s3"], indirect=True)
def test_a_bucket_and_a_folder_are_loaded_together(world: World) -> None:
    """Equal files of one name: the one of the bucket is claimed and moved there, the other one in its folder."""
    world.create_table("create table t (id int, shop text, paid int)")
    config = {"atomicity": world.storage.atomicity, "waitPolicy": WAIT}
    (bucket, *_) = world.document(columns=COLUMNS, source=config)["nodes"]
    moved = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
    world.write("south.csv", SAME)
    heads = [head(world, "south", SAME, **moved), bucket]
    document = united(world, heads, ["south", "src"])
    report = world.run(document)
    assert world.rows() == [(1, "x", 10), (1, "x", 10)]
    assert adds_up(report)
    assert world.sql('select "sourceNode" from rejected order by 1') == [("south",), ("src",)]
    assert [path.name for path in (world.folder / "south" / ".done").iterdir()] == ["south.csv"]
    assert world.storage.exists(".done/south.csv")
    assert not world.storage.exists("south.csv")
    assert world.run(document).nothing_new


@pytest.mark.slow
def test_files_and_a_table_are_loaded_together(world: World) -> None:
    world.create_table(TABLE)
    world.sql("create table s (id int, shop text, paid int)")
    world.sql("insert into s values (8, 'table', 80), (9, 'table', -1)")
    table = {"id": "south", "kind": "source", "connector": "postgres", "connection": "warehouse"}
    table["config"] = {"table": {"schema": world.schema, "name": "s"}}
    document = united(world, [head(world, "north", NORTH), table], ["north", "south"], mode="truncate")
    report = world.run(document)
    assert world.rows("id") == [(1,), (2,), (8,)]
    assert adds_up(report)
    assert world.sql('select "sourceNode", "sourceFile" from rejected') == [("south", f"{world.schema}.s")]
    world.run(document)
    assert world.rows("id") == [(1,), (2,), (8,)]


@pytest.mark.slow
def test_a_restored_table_knows_the_files_of_each_source(world: World) -> None:
    document = twins(world, south=None, backupBeforeLoad=True)
    world.run(document)
    (world.folder / "north" / "n2.csv").write_text("id,shop,paid\n6,x,60\n")
    second = str(uuid.uuid4())
    world.run(document, run_id=second)
    restore_pipeline(world.job(document, backup=BackupRef(second, "load")), world.memory.ports())
    assert world.rows("id") == [(1,)]
    (world.folder / "south" / "s.csv").write_text(SAME)
    world.run(document)
    assert world.rows("id") == [(1,), (1,), (6,)]


@pytest.mark.slow
def test_the_rows_of_a_source_are_counted_in_its_own_step(world: World) -> None:
    world.create_table(TABLE)
    counted: dict[tuple[str, str | None], list[tuple[str, int]]] = {}
    world.memory.on_step = lambda step, node: counted.setdefault((step, node), []).extend(world.memory.rows)
    world.run(shops(world))
    assert counted["scan", "south"] == [("scan", 2)]
