"""The op aggregate: one row of each group, every row accounted for."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.runs.replay import replay_rows
from tests.executors.conformance.test_node_previews import preview
from tests.executors.conformance.test_replays import ids, rows_ref
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TYPES = [{"name": "no", "type": "integer"}, {"name": "amount", "type": "decimal(12,2)"}]
COLUMNS = [
    {"as": "orders", "function": "count"},
    {"as": "paid", "function": "count", "column": "amount"},
    {"as": "total", "function": "sum", "column": "amount"},
    {"as": "lowest", "function": "min", "column": "amount"},
    {"as": "last", "function": "max", "column": "who"},
    {"as": "mean", "function": "avg", "column": "amount"},
    {"as": "mean_no", "function": "avg", "column": "no"},
    {"as": "people", "function": "countDistinct", "column": "who"},
]
TABLE = """create table t (country text, orders bigint, paid bigint, total numeric(22,2), lowest numeric(12,2),
    last text, mean numeric(16,6), mean_no numeric(24,4), people bigint)"""
COUNTED = [{"as": "n", "function": "count"}, {"as": "total", "function": "sum", "column": "amount"}]
HEADER = "no,country,who,amount\n"


def aggregate(columns: list[dict[str, Any]] = COLUMNS, by: tuple[str, ...] = ("country",)) -> dict[str, Any]:
    return {"op": "aggregate", "by": list(by), "columns": columns}


def document(world: World, *ops: dict[str, Any], mode: str = "truncate", **more: Any) -> dict[str, Any]:
    return world.document(columns=TYPES, ops=[*ops, aggregate(COUNTED)], mode=mode, **more)


def expected(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What a plain reference makes of rows of (no, country, who, amount)."""
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        groups[row[1]].append(row)
    return [
        (
            country,
            len(group),
            len(amounts := [amount for *_, amount in group if amount is not None]),
            sum(amounts) if amounts else None,
            min(amounts, default=None),
            max((who for _, _, who, _ in group if who is not None), key=str.encode, default=None),
            mean(amounts, 6),
            mean([no for no, *_ in group if no is not None], 4),
            len({who for _, _, who, _ in group if who is not None}),
        )
        for country, group in groups.items()
    ]


def mean(values: list[Any], digits: int) -> Decimal | None:
    if not values:
        return None
    return (Decimal(sum(values)) / len(values)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def lines(rows: list[tuple[Any, ...]]) -> str:
    return HEADER + "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in rows)


def some_rows(some: random.Random, count: int) -> list[tuple[Any, ...]]:
    amounts = [None, Decimal("0.10"), Decimal("9999999999.99"), Decimal("-3.33"), Decimal("0.01")]
    countries, people = ["DE", "FR", "日本", None], ["Ann", "Zoë", "日本", None]
    return [(no, some.choice(countries), some.choice(people), some.choice(amounts)) for no in range(count)]


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=str)


def test_every_function_computes_what_a_plain_reference_does(world: World) -> None:
    world.sql(TABLE)
    rows = some_rows(random.Random(1), 60)
    world.write("a", lines(rows[:25]))
    world.write("b", lines(rows[25:]))
    report = world.run(world.document(columns=TYPES, ops=[aggregate()], mode="truncate"))
    assert in_order(world.rows()) == in_order(expected(rows))
    target = target_of(report)
    assert (target.rows_read, target.rows_loaded, target.rows_grouped) == (60, 4, 56)
    assert reconciles(report)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_any_rows_give_what_a_plain_reference_does(world: World, seed: int) -> None:
    world.sql(TABLE)
    some = random.Random(seed)
    rows = some_rows(some, some.choice([1, 7, 300, 3000]))
    files = some.randint(1, 4)
    for file in range(files):
        world.write(f"f{file}", lines(rows[file::files]))
    report = world.run(world.document(columns=TYPES, ops=[aggregate()], mode=some.choice(["truncate", "blue_green"])))
    assert in_order(world.rows()) == in_order(expected(rows))
    assert reconciles(report)


def test_rejected_and_filtered_rows_are_in_no_group_and_accounted_for(world: World) -> None:
    world.sql("create table t (country text, n bigint, total numeric)")
    world.write("a", HEADER + "1,DE,a,10\n2,DE,b,gone\n3,DE,c,5\n4,FR,d,7\nshort\n5,IT,e,1\nx,FR,f,2\n6,FR,g,3\n")
    report = world.run(document(world, {"op": "filter", "where": "country <> 'IT'"}, onTypeMismatch="skip"))
    assert world.rows() == [("DE", 2, 15), ("FR", 2, 10)]
    target = target_of(report)
    assert (target.rows_read, target.rows_rejected, target.rows_filtered, target.rows_grouped) == (8, 3, 1, 2)
    assert reconciles(report)
    assert world.sql('select "sourceRecord", "rowFrom" from rejected order by 1') == [
        (2, "source"),
        (5, "source"),
        (7, "source"),
    ]


def test_a_row_that_a_dropped_column_rejects_is_in_no_group(world: World) -> None:
    world.sql("create table t (country text, n bigint)")
    rows = (
        {"country": "DE", "more": '{"a": 1}'},
        {"country": "DE", "more": '{"b": 1}'},
        {"country": "DE", "more": "x"},
    )
    world.write("a", "".join(json.dumps(row) + "\n" for row in rows))
    flatten = {"op": "flatten", "field": "more", "columns": {"$.a": "integer"}, "onMissing": "null"}
    ops = [
        {**flatten, "onUnknown": "reject"},
        {"op": "drop", "columns": ["more", "a"]},
        aggregate([{"as": "n", "function": "count"}]),
    ]
    report = world.run(world.document(format="jsonl", ops=ops, mode="truncate", onTypeMismatch="skip"))
    assert world.rows() == [("DE", 1)]
    assert (target_of(report).rows_rejected, reconciles(report)) == (2, True)


def test_a_rejected_group_is_stored_with_its_values_and_its_first_records(world: World) -> None:
    world.sql("create table t (country text, n bigint, total numeric)")
    world.write("a", HEADER + "".join(f"{no},{'DE' if no % 2 else 'FR'},a,{no}\n" for no in range(1, 301)))
    rules = [{"type": "range", "field": "total", "max": 22_600, "onFail": "skip"}]
    report = world.run(document(world, rules=rules))
    assert world.rows() == [("DE", 150, 22_500)]
    target = target_of(report)
    assert (target.rows_read, target.rows_loaded, target.rows_rejected, target.rows_grouped) == (300, 1, 1, 298)
    assert reconciles(report)
    ((row, form, record),) = world.sql('select row, "rowFrom", "sourceRecord" from rejected')
    group = row.pop("_flow_group")
    assert (row, form, record) == ({"country": "FR", "n": 150, "total": "22650.00"}, "group", 2)
    assert group["rows"] == 150
    assert [first["record"] for first in group["first"]] == list(range(2, 201, 2))
    assert {first["file"] for first in group["first"]} == {world.shown("a")}
    with pytest.raises(Terminal) as refused:
        replay_rows(
            world.job(document(world), rows=rows_ref(world, ids(world), row_from="group")), world.memory.ports()
        )
    assert refused.value.code == "replay.aggregates"


def test_when_every_group_is_rejected_the_table_stays(world: World) -> None:
    world.sql("create table t (country text, n bigint, total numeric)")
    world.sql("insert into t values ('old', 1, 1)")
    world.write("a", HEADER + "1,DE,a,10\n2,DE,b,5\n")
    rules = [{"type": "range", "field": "n", "max": 1, "onFail": "skip"}]
    with pytest.raises(Failure) as failed:
        world.run(document(world, rules=rules, failOnEmptySource=False))
    assert failed.value.code == "rows.too_many_rejected"
    assert world.rows() == [("old", 1, 1)]


def test_a_sum_that_its_type_cannot_hold_fails_the_run(world: World) -> None:
    world.sql("create table t (country text, total numeric)")
    world.write("a", "no,country\n" + f"{2**63 - 1},DE\n1,DE\n")
    columns = [{"name": "no", "type": "bigint"}]
    ops = [aggregate([{"as": "total", "function": "sum", "column": "no"}])]
    with pytest.raises(Failure) as failed:
        world.run(world.document(columns=columns, ops=ops, mode="truncate"))
    assert (failed.value.code, failed.value.node) == ("expression.failed", "shape")
    assert world.rows() == []


def test_what_fails_in_a_rejected_row_fails_no_group(world: World) -> None:
    world.sql("create table t (country text, total numeric)")
    big = "9" * 38
    world.write("a", f"no,country,amount\n1,DE,{big}\nx,DE,{big}\nx,DE,{big}\n")
    columns = [{"name": "no", "type": "integer"}, {"name": "amount", "type": "decimal(38,0)"}]
    ops = [aggregate([{"as": "total", "function": "sum", "column": "amount"}])]
    report = world.run(world.document(columns=columns, ops=ops, mode="truncate", onTypeMismatch="skip"))
    assert world.rows() == [("DE", Decimal(big))]
    assert reconciles(report)


def test_nodes_after_it_see_the_groups(world: World) -> None:
    world.sql("create table t (country text, n bigint, mean numeric)")
    world.write("a", HEADER + "1,DE,a,10\n2,DE,b,4\n3,FR,c,5\n4,IT,d,1\n5,IT,e,2\nx,IT,f,3\n")
    made = document(world, {"op": "filter", "where": "amount < 9"}, onTypeMismatch="skip")
    after = [{"op": "filter", "where": "n > 1 OR total > 4"}, {"op": "derive", "columns": {"mean": "total / n"}}]
    after.append({"op": "drop", "columns": ["total"]})
    nodes = made["nodes"]
    made["nodes"] = [
        *nodes[:2],
        {"id": "after", "kind": "transform", "inputs": ["shape"], "ops": after},
        {**nodes[2], "inputs": ["after"]},
        nodes[3],
    ]
    report = world.run(made)
    assert world.rows() == [("FR", 1, 5), ("IT", 2, Decimal("1.5"))]
    target = target_of(report)
    assert (target.rows_read, target.rows_filtered, target.rows_grouped, target.rows_rejected) == (6, 2, 1, 1)
    assert reconciles(report)
    assert [(n.id, n.rows_in, n.rows_out) for n in report.nodes][1:3] == [("shape", 5, 3), ("after", 3, 2)]


def test_a_preview_shows_the_groups(world: World) -> None:
    world.write("a", HEADER + "1,DE,a,10\n2,FR,b,5\n3,DE,c,4\n")
    shown = preview(world, document(world), "shape")
    assert [row.after for row in shown.rows if row.after is not None] == [("DE", 2, "14.00"), ("FR", 1, "5.00")]
    assert "2 groups, each shown at its first row. The 1 other rows of the groups are shown as filtered." in shown.notes


def test_the_preview_of_a_run_counts_groups(world: World) -> None:
    world.sql("create table t (country text, n bigint, total numeric)")
    world.sql("insert into t values ('old', 1, 1)")
    world.write("a", HEADER + "1,DE,a,10\n2,FR,b,5\n3,DE,c,4\n")
    report = world.preview(document(world))
    (effect,) = report.effects
    assert (effect.before, effect.inserted, effect.deleted) == (1, 2, 1)
    assert (target_of(report).rows_read, target_of(report).rows_grouped) == (3, 1)
    assert world.rows() == [("old", 1, 1)]


def test_a_group_that_the_table_refuses_is_a_group_in_quarantine(world: World) -> None:
    world.sql("create table t (country text check (country <> 'FR'), n bigint, total numeric)")
    world.write("a", HEADER + "1,DE,a,10\n2,FR,b,5\n3,FR,c,4\n")
    report = world.run(document(world, onTypeMismatch="skip"))
    assert world.rows() == [("DE", 1, 10)]
    assert reconciles(report)
    ((row, form),) = world.sql('select row, "rowFrom" from rejected')
    assert (row["country"], row["n"], form) == ("FR", 2, "group")
