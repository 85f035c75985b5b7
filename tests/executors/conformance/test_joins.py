"""The op join: each row stays one row, and the effects of its reference are counted and recorded."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from executors.errors import Failure, InvalidContent, Terminal
from executors.holding import Held
from executors.model import RowsRef
from executors.node_preview.model import NodePreviewJob
from executors.node_preview.preview import preview_node
from executors.report import JoinCount, RunReport
from executors.runs.fix import fix_rows
from executors.runs.load import run_pipeline
from executors.runs.recheck import recheck_rows
from executors.runs.replay import replay_rows
from executors.runs.sample import sample_pipeline
from executors.spark import compiled
from executors.spark.batch_passthrough import BATCH, ROW
from executors.spark.joins import shuffle_key
from ir import parsePipelineIR
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = "create table t (id int, customer text, name text)"
ORDERS = "id,customer\n1,a\n2,b\n3,\n4,x\n5,a\n"
CUSTOMERS = "key,name\na,Ann\nb,Bob\n,nobody\nc,Cid\n"
ID = [{"name": "id", "type": "integer"}]


@pytest.fixture(params=["broadcast", "shuffled"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """References are either sent to each task, or grouped with the rows of the same key."""
    if request.param == "shuffled":
        monkeypatch.setattr(compiled, "MOST_BROADCAST", 0)
    return str(request.param)


def join(type: str = "left", **op: Any) -> dict[str, Any]:
    added = {"columns": {"name": "name"}} if type in ("left", "inner") else {}
    return {"op": "join", "with": "customers", "type": type, "on": {"customer": "key"}, **added, **op}


def with_customers(
    world: World,
    *ops: dict[str, Any],
    text: str = CUSTOMERS,
    shape: list[dict[str, Any]] | None = None,
    columns: list[dict[str, Any]] | None = None,
    source: dict[str, Any] | None = None,
    **document: Any,
) -> dict[str, Any]:
    """Return the document of a world whose node `shape` joins with the files of the folder `customers`. If `shape` is
    given, the reference passes a transform with these ops."""
    folder = world.folder / "customers"
    folder.mkdir(exist_ok=True)
    (folder / "customers.csv").write_text(text)
    config = {
        "path": "customers",
        "pattern": {"type": "glob", "value": "*"},
        "format": {"type": "csv"},
        "waitPolicy": {"settleSeconds": 0},
    }
    node = {"id": "customers" if not shape else "raw", "kind": "source", "connector": "local_fs", "config": config}
    node |= ({"columns": columns} if columns else {}) | (source or {})
    made = world.document(ops=ops or [join()], columns=ID, **document)
    shaping = {"id": "customers", "kind": "transform", "inputs": ["raw"], "ops": shape}
    made["nodes"] = [node, *([shaping] if shape else []), *made["nodes"]]
    target = next(node for node in made["nodes"] if node["id"] == "shape")
    target["inputs"] = ["src", "customers"]
    return made


def from_table(world: World, document: dict[str, Any], table: str = "s") -> dict[str, Any]:
    """Return the document with a table of the target's database as reference."""
    config = {"table": {"schema": world.schema, "name": table}}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": config}
    return document


def joined(report: RunReport) -> JoinCount:
    (count,) = next(node for node in report.nodes if node.id == "shape").joins
    return count


@pytest.mark.parametrize(
    ("type", "rows", "filtered"),
    [
        ("left", [(1, "a", "Ann"), (2, "b", "Bob"), (3, None, None), (4, "x", None), (5, "a", "Ann")], 0),
        pytest.param("inner", [(1, "a", "Ann"), (2, "b", "Bob"), (5, "a", "Ann")], 2, marks=pytest.mark.slow),
        pytest.param("semi", [(1, "a"), (2, "b"), (5, "a")], 2, marks=pytest.mark.slow),
        ("anti", [(3, None), (4, "x")], 3),
    ],
)
@pytest.mark.usefixtures("each_way")
def test_rows_are_looked_up_and_those_that_are_not_kept_count_as_filtered(
    world: World, type: str, rows: list[tuple[Any, ...]], filtered: int
) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    report = world.run(with_customers(world, join(type)))
    assert world.rows("id, customer, name" if len(rows[0]) == 3 else "id, customer") == rows
    assert (target_of(report).rows_read, target_of(report).rows_filtered, reconciles(report)) == (5, filtered, True)
    assert (joined(report).matched, joined(report).unmatched) == (3, 2)
    assert next(node.rows_filtered for node in report.nodes if node.id == "shape") == filtered


@pytest.mark.usefixtures("each_way")
def test_a_key_that_several_rows_have_is_refused_where_it_would_multiply_rows(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    twice = CUSTOMERS + "a,Anna\n"
    with pytest.raises(Terminal) as raised:
        world.run(with_customers(world, text=twice))
    failure = raised.value
    assert (failure.code, failure.node) == ("join.key_not_unique", "shape")
    assert "2 of its rows" in failure.message
    assert not isinstance(failure, InvalidContent)
    assert world.rows() == []


@pytest.mark.usefixtures("each_way")
def test_a_repeated_key_that_no_row_has_multiplies_nothing(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    world.run(with_customers(world, text=CUSTOMERS + "c,Cilla\n,nobody\n"))
    assert len(world.rows()) == 5


def test_rows_without_a_key_are_spread_over_tasks(spark: SparkSession) -> None:
    rows = spark.range(100).select(
        F.lit(7).cast("long").alias(BATCH), F.col("id").cast("int").alias(ROW), F.lit(None).cast("string").alias("key")
    )
    found = rows.select(shuffle_key([F.col("key"), F.lit("a")]).alias("hash")).distinct()
    assert found.count() == 100


def test_semi_and_anti_joins_take_any_number_of_matches(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    report = world.run(with_customers(world, join("semi"), text=CUSTOMERS + "a,Anna\n"))
    assert world.rows("id") == [(1,), (2,), (5,)]
    assert joined(report).matched == 3


# --- keys ---------------------------------------------------------------------------------------------------------


def test_keys_are_compared_as_numbers_where_both_are(world: World) -> None:
    world.sql("create table t (id int, customer int, name text)")
    world.write("a", "id,customer\n1,7\n2,007\n3,8\n")
    world.sql("create table s as select * from (values (7::bigint, 'Ann'), (9, 'Bob')) s (key, name)")
    document = with_customers(world, {"op": "cast", "columns": {"customer": "integer"}}, join())
    document["nodes"][0] |= {
        "connector": "postgres",
        "connection": "warehouse",
        "config": {"table": {"schema": world.schema, "name": "s"}},
    }
    report = world.run(document)
    assert world.rows("id, name") == [(1, "Ann"), (2, "Ann"), (3, None)]
    assert joined(report).read.name == f"{world.schema}.s"


def test_a_text_is_no_number(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    with pytest.raises(Terminal) as raised:
        world.run(with_customers(world, columns=[{"name": "key", "type": "integer"}], text="key,name\n1,a\n"))
    assert (raised.value.code, raised.value.node) == ("join.key_type", "shape")


def test_several_columns_are_a_key_and_a_null_in_one_of_them_is_none(world: World) -> None:
    world.sql("create table t (id int, customer text, land text, name text)")
    world.write("a", "id,customer,land\n1,a,de\n2,a,fr\n3,a,\n")
    report = world.run(
        with_customers(
            world,
            join(on={"customer": "key", "land": "land"}),
            text="key,land,name\na,de,Anna\na,fr,Anne\na,,Ann\n",
        )
    )
    assert world.rows("id, name") == [(1, "Anna"), (2, "Anne"), (3, None)]
    assert (joined(report).matched, joined(report).unmatched) == (2, 1)


def test_a_row_whose_key_is_not_of_its_type_is_rejected_and_not_looked_up(world: World) -> None:
    world.sql("create table t (id int, customer int, name text)")
    world.write("a", "id,customer\n1,7\n2,x\nshort\n")
    ops = [{"op": "cast", "columns": {"customer": "integer"}}, join("inner")]
    types = [{"name": "key", "type": "integer"}]
    report = world.run(with_customers(world, *ops, text="key,name\n7,Ann\n", columns=types, onTypeMismatch="skip"))
    assert world.rows("id, name") == [(1, "Ann")]
    assert (target_of(report).rows_rejected, target_of(report).rows_filtered, reconciles(report)) == (2, 0, True)
    assert (joined(report).matched, joined(report).unmatched) == (1, 0)
    assert world.sql('select "sourceRecord", "ruleId" from rejected order by 1') == [(2, "type:customer"), (3, "row")]


def test_rows_that_are_filtered_before_are_not_looked_up(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    twice = CUSTOMERS + "a,Anna\n"
    report = world.run(with_customers(world, {"op": "filter", "where": "customer <> 'a'"}, join("inner"), text=twice))
    assert world.rows("id, name") == [(2, "Bob")]
    assert (joined(report).matched, joined(report).unmatched) == (1, 1)
    assert (target_of(report).rows_filtered, reconciles(report)) == (4, True)


@pytest.mark.usefixtures("each_way")
def test_columns_may_have_any_name(world: World) -> None:
    world.sql('create table t (id int, "cust.no" text, "na`me.x" text, "ключ" text)')
    world.write("a", "id,cust.no\n1,a\n2,b\n")
    named = {"na`me": "na`me.x", "a.b c": "ключ"}
    text = "cust.no,na`me,a.b c\na,Ann,1\nb,Bob,2\n"
    world.run(with_customers(world, join(on={"cust.no": "cust.no"}, columns=named), text=text))
    assert world.rows() == [(1, "a", "Ann", "1"), (2, "b", "Bob", "2")]


def test_numbers_of_another_scale_and_texts_that_postgresql_pads_are_compared_by_value(world: World) -> None:
    world.sql("create table t (id int, customer text, land numeric(10,2), name text)")
    world.sql("create table s (key char(5), land numeric(12,4), name text)")
    world.sql("insert into s values ('a', 1.5, 'Ann'), ('b', 2.5001, 'Bob')")
    world.write("a", 'id,customer,land\n1,a,1.50\n2,b,2.50\n3,"a ",1.50\n')
    cast = {"op": "cast", "columns": {"land": "decimal(10,2)"}}
    document = with_customers(world, cast, join(on={"customer": "key", "land": "land"}))
    world.run(from_table(world, document))
    assert world.rows("id, name") == [(1, "Ann"), (2, None), (3, None)]


# --- references ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_way")
def test_a_reference_may_be_shaped_before(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    text = "code,name,at\na,Ann,1\na,Anna,2\nb,Bob,1\nx,gone,1\n"
    shape = [
        {"op": "rename", "columns": {"code": "key"}},
        {"op": "filter", "where": "name <> 'gone'"},
        {"op": "deduplicate", "keys": ["key"], "orderBy": "at"},
        {"op": "derive", "columns": {"name": "upper(name)"}},
    ]
    report = world.run(with_customers(world, text=text, shape=shape))
    assert world.rows("id, name") == [(1, "ANNA"), (2, "BOB"), (3, None), (4, None), (5, "ANNA")]
    assert joined(report).read.rows == 4


@pytest.mark.parametrize(
    ("text", "columns", "what"),
    [
        ("key,name\na,Ann\nshort\n", None, "record 2"),
        ("key,name\na,Ann\nb,maybe\n", [{"name": "name", "type": "boolean"}], "'name' is not true or false"),
    ],
)
def test_a_reference_that_cannot_be_read_whole_ends_the_run(world: World, text: str, columns: Any, what: str) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    with pytest.raises(Failure) as raised:
        world.run(with_customers(world, text=text.replace("Ann", "true"), columns=columns, onTypeMismatch="null"))
    assert (raised.value.code, raised.value.node) == ("join.reference_unreadable", "customers")
    assert what in raised.value.message
    assert not isinstance(raised.value, InvalidContent)


def test_a_column_of_a_reference_that_no_join_uses_may_hold_anything(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    text = "key,name,age\na,Ann,old\n"
    world.run(with_customers(world, text=text, columns=[{"name": "age", "type": "integer"}]))
    assert world.rows("name")[:2] == [("Ann",), ("Ann",)]


@pytest.mark.parametrize("text", ["", "key,name\n"])
def test_a_reference_without_rows_ends_the_run(world: World, text: str) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    with pytest.raises(Terminal) as raised:
        world.run(with_customers(world, text=text))
    assert (raised.value.code, raised.value.node) == ("join.reference_empty", "customers")


def test_a_reference_without_a_file_or_a_row_in_its_table_ends_the_run(world: World) -> None:
    world.sql(TABLE)
    world.sql("create table s (key text, name text)")
    world.write("a", ORDERS)
    document = with_customers(world)
    (world.folder / "customers" / "customers.csv").unlink()
    with pytest.raises(Terminal, match="No file in 'customers'") as raised:
        world.run(document)
    assert raised.value.code == "join.reference_empty"
    table = {"table": {"schema": world.schema, "name": "s"}}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": table}
    with pytest.raises(Terminal) as raised:
        world.run(document)
    assert raised.value.code == "join.reference_empty"


def test_an_expression_that_fails_in_a_reference_does_not_blame_the_rows(world: World) -> None:
    world.sql(TABLE)
    path = world.write("a", ORDERS)
    shape = [{"op": "derive", "columns": {"name": "string(1 / length(name))"}}]
    with pytest.raises(Terminal) as raised:
        world.run(with_customers(world, text='key,name\na,Ann\nb,""\n', shape=shape))
    assert (raised.value.code, raised.value.node) == ("expression.failed", "customers")
    assert not isinstance(raised.value, InvalidContent)
    assert path.exists()
    assert "failed" not in world.memory.states.values()


def test_a_changed_reference_makes_no_file_new(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    first = joined(world.run(with_customers(world))).read
    report = world.run(with_customers(world, text=CUSTOMERS + "x,Xi\n"))
    assert report.nothing_new
    world.write("b", "id,customer\n6,x\n")
    second = joined(world.run(with_customers(world, text=CUSTOMERS + "x,Xi\n"))).read
    assert world.rows("id, name")[-1] == (6, "Xi")
    assert (first.name, first.rows, second.rows) == ("customers/customers.csv", 4, 5)
    assert first.identity != second.identity


def test_the_record_of_the_load_names_what_was_looked_up(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    counted = joined(world.run(with_customers(world)))
    ((record,),) = world.sql("select record from flow_meta.load_commits where tenant = %s", world.tenant)
    (node,) = (node for node in record["nodes"] if node["id"] == "shape")
    assert node["joins"][0]["read"]["identity"] == counted.read.identity


def test_what_was_looked_up_is_known_where_the_table_refuses_a_row(world: World) -> None:
    world.sql("create table t (id int check (id <> 2), customer text, name text)")
    world.write("a", ORDERS)
    report = world.run(with_customers(world, onTypeMismatch="skip"))
    assert (target_of(report).rows_rejected, joined(report).read.rows) == (1, 4)


def test_the_table_that_is_loaded_can_be_looked_up_before_its_rows_are_replaced(world: World) -> None:
    world.sql(TABLE)
    world.sql("insert into t values (1, 'a', 'old')")
    world.write("a", ORDERS)
    document = with_customers(world, join(on={"customer": "customer"}), mode="truncate")
    table = {"table": {"schema": world.schema, "name": "t"}}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": table}
    world.run(document)
    assert world.rows("id, name") == [(1, "old"), (2, None), (3, None), (4, None), (5, "old")]


@pytest.mark.parametrize("type", ["left", "inner"])
def test_a_join_that_finds_nothing_warns(world: World, type: str) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    report = world.run(with_customers(world, join(type), text="key,name\nA,Ann\n"))
    assert [warning.code for warning in report.warnings if warning.code.startswith("join")] == ["join.none_matched"]


@pytest.mark.usefixtures("each_way")
def test_every_type_can_be_looked_up(world: World) -> None:
    world.sql("""
        create table s as select 1 as k, 2.50::numeric(8,3) as d, '2024-02-29'::date as day, true as ok,
            7::bigint as big, '2024-02-29 10:00:00.5'::timestamp as ts, '2024-02-29 10:00:00.5+02'::timestamptz as tz,
            '10:00:01'::time as clock, 0.1::real as r, 'NaN'::float8 as f, '\\xff00'::bytea as b,
            gen_random_uuid() as u, '{"a": [1]}'::jsonb as j,
             123456789012345678901234567890.5::numeric as n, '10.0.0.1'::inet as net""")
    names = [
        row[0]
        for row in world.sql("""
        select attname from pg_attribute where attrelid = 's'::regclass and attnum > 1 order by attnum""")
    ]
    world.sql(f"create table t as select 0 as id, {', '.join(names)} from s where false")
    world.write("a", "id\n1\n2\n")
    added = {name: name for name in names}
    document = with_customers(
        world, {"op": "join", "with": "customers", "type": "left", "on": {"id": "k"}, "columns": added}
    )
    table = {"table": {"schema": world.schema, "name": "s"}}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": table}
    world.run(document)
    both = [
        world.sql(f"select r::text from (select {', '.join(names)} from {table} where {where}) r")
        for table, where in (("s", "true"), ("t", "id = 1"))
    ]
    assert both[0] == both[1]
    assert world.sql(f"select num_nonnulls({', '.join(names)}) from t where id = 2") == [(0,)]


# --- on the way ---------------------------------------------------------------------------------------------------


def test_what_is_looked_up_can_be_used_by_expressions_rules_and_further_joins(world: World) -> None:
    world.sql("create table t (id int, customer text, name text, greeting text, boss text)")
    world.write("a", ORDERS)
    greet = {"op": "derive", "columns": {"greeting": "concat('Dear ', upper(name))"}}
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    document = with_customers(world, join(), greet, rules=rules)
    boss = {"op": "join", "with": "customers", "type": "left", "on": {"boss_key": "key"}, "columns": {"name": "boss"}}
    second = {
        "id": "second",
        "kind": "transform",
        "inputs": ["shape", "customers"],
        "ops": [
            {"op": "derive", "columns": {"boss_key": "CASE WHEN name = 'Ann' THEN 'b' END"}},
            boss,
            {"op": "drop", "columns": ["boss_key"]},
        ],
    }
    document["nodes"].append(second)
    next(node for node in document["nodes"] if node["id"] == "check")["inputs"] = ["second"]
    report = world.run(document)
    assert world.rows("id, greeting, boss") == [
        (1, "Dear ANN", "Bob"),
        (2, "Dear BOB", None),
        (5, "Dear ANN", "Bob"),
    ]
    assert (target_of(report).rows_rejected, reconciles(report)) == (2, True)
    assert world.sql("select \"sourceRecord\", field, row ->> 'customer' from rejected order by 1") == [
        (3, "name", None),
        (4, "name", "x"),
    ]


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize(("type", "ids"), [("left", [1, 2, 3, 6]), pytest.param("anti", [3], marks=pytest.mark.slow)])
def test_rows_are_in_order_after_a_deduplicate_and_several_joins(world: World, type: str, ids: list[int]) -> None:
    world.sql("create table t (id int, customer text, name text, again text)")
    world.write("a", "id,customer\n1,a\n1,b\n2,b\n3,\n5,a\n6,\n6,c\n")
    ops = [{"op": "deduplicate", "keys": ["id"]}, join(type), {"op": "filter", "where": "id <> 5"}]
    document = with_customers(world, *ops)
    second = {**join(columns={"name": "again"}), "type": "left"}
    document["nodes"].append({"id": "second", "kind": "transform", "inputs": ["shape", "customers"], "ops": [second]})
    next(node for node in document["nodes"] if node["id"] == "check")["inputs"] = ["second"]
    report = world.run(document)
    assert [row[0] for row in world.rows("id")] == ids
    assert world.sql("select distinct customer, again from t where again is not null order by 1") == (
        [("b", "Bob"), ("c", "Cid")] if type == "left" else []
    )
    assert reconciles(report)


@pytest.mark.usefixtures("each_way")
def test_rows_of_many_batches_and_tasks_get_what_is_theirs(world: World) -> None:
    world.sql(TABLE)
    rows = [(i, f"k{i * 7919 % 5000}" if i % 9 else "") for i in range(60_000)]
    for part in range(3):
        mine = rows[part * 20_000 : (part + 1) * 20_000]
        world.write(f"part{part}", "id,customer\n" + "".join(f"{i},{key}\n" for i, key in mine))
    text = "key,name\n" + "".join(f"k{i},Name {i}\n" for i in range(4000))
    report = world.run(with_customers(world, text=text))
    wanted = [(i, f"Name {key[1:]}" if key and int(key[1:]) < 4000 else None) for i, key in rows]
    assert world.rows("id, name") == wanted
    assert (joined(report).matched, reconciles(report)) == (sum(name is not None for _, name in wanted), True)


def test_targets_of_one_pipeline_look_rows_up_in_the_same(world: World) -> None:
    world.sql(TABLE)
    world.sql("create table u (id int, customer text, name text)")
    world.sql("create table s as select 'a' as key, 'Ann' as name")
    world.write("a", ORDERS)
    document = with_customers(world)
    table = {"table": {"schema": world.schema, "name": "s"}}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": table}
    load = document["nodes"][-1]
    document["nodes"].append({**load, "id": "other", "table": "u"})

    def change(step: str, node: str | None) -> None:
        if (step, node) == ("load", "load"):
            world.sql("update s set name = 'Changed'")

    world.memory.on_step = change
    world.run(document)
    assert world.rows() == world.rows(table="u")
    assert world.rows("name", "s") == [("Changed",)]


def test_a_rejected_row_is_looked_up_again_when_it_is_replayed(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    world.run(with_customers(world, rules=rules))
    assert world.rows("id") == [(1,), (2,), (5,)]
    chosen = [row[0] for row in world.sql("select id from rejected order by id")]
    ref = RowsRef("load", "source", [(world.schema, "rejected", chosen)])
    document = with_customers(world, rules=rules, text=CUSTOMERS + "x,Xi\n")
    report = replay_rows(world.job(document, rows=ref), world.memory.ports())
    assert report.row_counts == {"loaded": 1, "fails": 1}
    assert world.rows("id, name")[2] == (4, "Xi")
    assert joined(report).matched == 1


def test_a_rejected_row_is_fixed_and_looked_up_again(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    document = with_customers(world, rules=[{"type": "notNull", "field": "name", "onFail": "skip"}])
    world.run(document)
    chosen = [row[0] for row in world.sql("select id from rejected order by id")]
    ref = RowsRef("load", "source", [(world.schema, "rejected", chosen)])
    fix = replace(ref, column="customer", expression="coalesce(customer, 'b')", by="ann", reason="known")
    assert fix_rows(world.job(document, rows=fix), world.memory.ports()).row_counts == {"fixed": 1, "unchanged": 1}
    assert recheck_rows(world.job(document, rows=ref), world.memory.ports()).row_counts["fails"] == 1
    replay_rows(world.job(document, rows=ref), world.memory.ports())
    assert world.rows("id, name") == [(1, "Ann"), (2, "Bob"), (3, "Bob"), (5, "Ann")]


def test_a_held_load_keeps_what_its_joins_counted(world: World) -> None:
    world.sql(TABLE)
    world.sql("insert into t select i from generate_series(1, 100) i")
    world.write("a", ORDERS)
    document, run_id = with_customers(world, mode="truncate", hold={"maxDecreasePct": 10}), str(uuid.uuid4())
    with pytest.raises(Held) as held:
        world.run(document, run_id=run_id)
    staged = world.job(document, run_id, 2, approved={"load": held.value.staged})
    report = run_pipeline(staged, world.memory.ports())
    assert (joined(report).matched, joined(report).read.rows) == (3, 4)


def test_a_preview_counts_matches_and_a_sample_has_what_is_looked_up(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    document = with_customers(world, join("inner"))
    report = world.preview(document)
    assert (joined(report).matched, target_of(report).rows_filtered) == (3, 2)
    assert sample_pipeline(world.job(document), world.memory.ports()).row_counts == {"load": 3}


def test_a_preview_of_a_node_looks_rows_up(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    pipeline = parsePipelineIR(with_customers(world, join("inner"))).pipeline
    job = NodePreviewJob("p", pipeline, "shape", "first", {"warehouse": world.warehouse}, world.folder)
    shown = preview_node(job, world.memory)
    assert [row.after for row in shown.rows if row.after] == [(1, "a", "Ann"), (2, "b", "Bob"), (5, "a", "Ann")]
    assert (shown.rows_in, shown.rows_filtered) == (5, 2)
    assert shown.notes[0] == "3 matched and 2 unmatched in customers."
    assert shown.notes[-1] == "Looked up in customers: All 4 rows of customers/customers.csv."


def test_a_preview_of_a_node_before_the_join_needs_no_reference(world: World) -> None:
    world.sql(TABLE)
    world.write("a", ORDERS)
    pipeline = parsePipelineIR(with_customers(world, text="key,name\n")).pipeline
    job = NodePreviewJob("p", pipeline, "src", "first", {"warehouse": world.warehouse}, world.folder)
    shown = preview_node(job, world.memory)
    assert shown.rows_in == 5
    assert "customers has an error" in shown.notes[0]
    with pytest.raises(Terminal) as raised:
        preview_node(replace(job, node="shape"), world.memory)
    assert raised.value.code == "join.reference_empty"
