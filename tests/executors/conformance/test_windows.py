"""The op window computes the same columns as a simple reference implementation."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.runs.replay import replay_rows
from tests.executors.conformance.test_node_previews import same_as_run
from tests.executors.conformance.test_replays import ids, rows_ref
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = """create table t (no int, who text, at int, amount numeric(12,2), n bigint, place bigint, before numeric(12,2),
    after text, total numeric(22,2))"""
TYPES = [
    {"name": "no", "type": "integer"},
    {"name": "at", "type": "integer"},
    {"name": "amount", "type": "decimal(12,2)"},
]
COLUMNS = [
    {"as": "n", "function": "rowNumber"},
    {"as": "place", "function": "rank"},
    {"as": "before", "function": "lag", "column": "amount"},
    {"as": "after", "function": "lead", "column": "who", "offset": 2},
    {"as": "total", "function": "runningSum", "column": "amount"},
]
NUMBERED = [{"as": "n", "function": "rowNumber"}]


def window(columns: list[dict[str, Any]] = COLUMNS, by: str = "at", direction: str = "ascending", **more: Any) -> dict:
    return {"op": "window", "partitionBy": ["who"], "orderBy": [{"column": by, "direction": direction}]} | {
        "columns": columns,
        **more,
    }


def expected(rows: list[tuple[Any, ...]], descending: bool) -> list[tuple[Any, ...]]:
    """Return rows of (no, who, at, amount) with the columns of the window."""
    groups: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        groups[row[1]].append(row)
    found = []
    for group in groups.values():
        lowest = [(row[2] is not None, row[2] or 0) for row in group]
        places = sorted(range(len(group)), key=lambda i: lowest[i], reverse=descending)
        places.sort(key=lambda i: (-lowest[i][0], -lowest[i][1]) if descending else lowest[i])
        total = None
        for n, i in enumerate(places):
            amount = group[i][3]
            total = total if amount is None else (total or 0) + amount
            before = group[places[n - 1]][3] if n else None
            after = group[places[n + 2]][1] if n + 2 < len(places) else None
            rank = 1 + sum((lowest[j] > lowest[i]) if descending else (lowest[j] < lowest[i]) for j in places)
            found.append((*group[i], n + 1, rank, before, after, total))
    return sorted(found)


def cell(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("direction", ["ascending", "descending"])
def test_every_function_computes_what_a_plain_reference_does(world: World, direction: str) -> None:
    world.sql(TABLE)
    some = random.Random(direction)
    rows = [
        (
            no,
            some.choice(["Ann", "Zoë", "日本", None]),
            some.choice([None, -1, 0, 5, 7]),
            some.choice([None, Decimal("0.10"), Decimal("9999999999.99"), Decimal("-3.33")]),
        )
        for no in range(40)
    ]
    for part, name in enumerate(("a", "b")):
        lines = [",".join(map(cell, row)) for row in rows[part * 20 : part * 20 + 20]]
        world.write(name, "no,who,at,amount\n" + "\n".join(lines) + "\n")
    report = world.run(world.document(columns=TYPES, ops=[window(direction=direction)]))
    assert world.rows() == expected(rows, direction == "descending")
    assert reconciles(report)


def test_a_preview_shows_what_a_run_does(world: World) -> None:
    world.write("a", "no,who,at,amount\n1,a,2,1.5\n2,b,1,2\n3,a,1,x\n4,a,1,3\n")
    same_as_run(world, world.document(columns=TYPES, ops=[window()], onTypeMismatch="skip"))


def test_filtered_rows_and_bad_values_take_no_part_and_are_accounted_for(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "no,who,at,amount\n1,a,1,10\n2,a,2,gone\n3,a,3,5\n4,a,4,7\nshort\n")
    ops = [{"op": "filter", "where": "no <> 3"}, window()]
    report = world.run(world.document(columns=TYPES, ops=ops, onTypeMismatch="skip"))
    assert world.rows("no, n, total") == [(1, 1, 10), (4, 2, 17)]
    assert (target_of(report).rows_rejected, target_of(report).rows_filtered, reconciles(report)) == (2, 1, True)


def test_a_filter_behind_it_sees_its_columns(world: World) -> None:
    world.sql("create table t (no int, who text, at int, n bigint)")
    world.write("a", "no,who,at\n1,a,1\n2,a,2\n3,b,1\n")
    ops = [window(NUMBERED, direction="descending"), {"op": "filter", "where": "n = 1"}]
    world.run(world.document(columns=TYPES[:2], ops=ops))
    assert world.rows("no") == [(2,), (3,)]


def test_no_rows_make_no_rows(world: World) -> None:
    world.sql(TABLE)
    world.write("a", "no,who,at,amount\n")
    report = world.run(world.document(columns=TYPES, ops=[window()]))
    assert (target_of(report).rows_loaded, reconciles(report)) == (0, True)


def test_a_sum_that_is_too_large_fails_the_run(world: World) -> None:
    world.sql("create table t (who text, at int, amount numeric, total numeric)")
    world.sql("create table s (who text, at int, amount numeric(38,0))")
    world.sql("insert into s values ('a', 1, 6e37), ('a', 2, 6e37)")
    with pytest.raises(Failure) as stopped:
        world.run(world.table_document(ops=[window(COLUMNS[-1:])]))
    assert stopped.value.code == "expression.failed"
    assert world.rows() == []


def test_rows_of_a_database_without_an_order_stop_the_run_unless_only_their_rank_is_asked(world: World) -> None:
    world.sql("create table t (who text, at int, name text, n bigint)")
    world.sql("create table s (who text, at int, name text)")
    world.sql("insert into s values ('a', 1, 'x'), ('a', 1, 'y'), ('a', 2, 'z')")
    with pytest.raises(Terminal) as stopped:
        world.run(world.table_document(ops=[window(NUMBERED)]))
    assert (stopped.value.code, stopped.value.node) == ("rule.abort", "shape")
    assert world.sql("select row ->> 'name', \"ruleId\" from rejected order by 1") == [
        ("x", "order:at"),
        ("y", "order:at"),
    ]
    world.run(world.table_document(ops=[window([{"as": "n", "function": "rank"}])]))
    assert world.rows("name, n") == [("x", 1), ("y", 1), ("z", 3)]


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ([{"as": "total", "function": "runningSum", "column": "who"}], "window.sum_type"),
        ([{"as": "who", "function": "rank"}], "column.repeated"),
    ],
)
def test_what_cannot_be_computed_is_refused(world: World, columns, code) -> None:
    world.write("a", "no,who,at\n1,a,1\n")
    with pytest.raises(Terminal) as refused:
        world.run(world.document(ops=[window(columns)]))
    assert (refused.value.code, refused.value.node) == (code, "shape")


def test_rows_that_a_window_would_see_alone_are_not_replayed(world: World) -> None:
    world.sql("create table t (who text, at int, n bigint)")
    world.write("a", "who,at\na,1\n,2\n")
    rules = [{"type": "notNull", "field": "who", "onFail": "skip"}]
    document = world.document(ops=[window(NUMBERED)], rules=rules)
    world.run(document)
    with pytest.raises(Terminal, match="rejected rows alone") as refused:
        replay_rows(world.job(document, rows=rows_ref(world, ids(world))), world.memory.ports())
    assert refused.value.code == "replay.window"
