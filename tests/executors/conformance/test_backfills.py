"""A backfill loads what one load would load, in chunks, and the first run after it continues exactly at its end."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import LeaseLost, Terminal
from executors.holding import Held
from executors.model import ChunkRange
from executors.ports import WriteBudget
from executors.report import RunReport
from executors.runs.backfill import load_chunk, plan_backfill
from executors.runs.load import run_pipeline
from tests.executors.conformance.backfills import Filling, filled
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def document(world: World, mode: str = "incremental_watermark", **backfill: Any) -> dict[str, Any]:
    """Return s → t by `at`, in chunks of five days."""
    target = {"watermarkColumn": "at"} if mode == "incremental_watermark" else {}
    made = world.table_document(mode=mode, emptyAsNull=False, **target)
    return {**made, "backfill": {"column": "at", "window": "5d", **backfill}}


def days(world: World, kind: str = "timestamp", last: int = 9) -> None:
    """Fill the source with a row for each half day of ten days."""
    world.sql(f"create table s (id bigint primary key, at {kind}, repo text)")
    world.sql(
        "insert into s select i, timestamp '2024-01-01' + i * interval '12 hours', 'r' || mod(i, 2)"
        " from generate_series(0, %s) i",
        2 * last,
    )


def column(world: World, name: str = "id", table: str = "t") -> list[Any]:
    return [row[0] for row in world.sql(f"select {name} from {table} order by 1")]


# --- every row once ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("incremental_watermark", kind) for kind in ("timestamp", "timestamptz", "date")] + [("upsert", "timestamp")],
)
def test_chunks_in_any_order_and_the_next_run_load_every_row_once(world: World, mode: str, kind: str) -> None:
    days(world, kind)
    chosen = document(world, mode)
    filling = Filling(world, chosen)

    reports = filling.load_all(reversed(filling.plan.chunks))
    before = column(world)
    filling.finish()
    after = world.run(chosen)

    assert next((chunk.lower, chunk.upper is not None) for chunk in filling.plan.chunks) == (None, True)
    assert len(filling.plan.chunks) == 2
    assert all(map(reconciles, reports))
    assert before == column(world, table="s")[:-1]
    assert column(world) == column(world, table="s")
    assert target_of(after).rows_inserted == 1
    assert target_of(world.run(chosen)).rows_inserted == 0


def test_rows_at_the_mark_and_late_rows_within_the_lag_load_once(world: World) -> None:
    days(world)
    world.sql("insert into s select 100 + i, (select max(at) from s), 'tie' from generate_series(1, 3) i")
    chosen = document(world)
    chosen["nodes"][-1]["watermarkLag"] = "1d"
    filling = filled(world, chosen)
    world.sql("insert into s values (200, (select max(at) from s), 'later tie'), (201, '2024-01-09 18:00', 'late')")

    first, second = world.run(chosen), world.run(chosen)

    assert (filling.plan.cut, filling.plan.mark) == ("2024-01-09 00:00:00", "2024-01-10 00:00:00")
    assert target_of(first).rows_inserted == 3 + 3 + 2
    assert target_of(second).rows_inserted == 0
    assert column(world) == column(world, table="s")


def test_values_that_a_watermark_cannot_follow_load_once(world: World) -> None:
    days(world)
    world.sql("insert into s values (50, '-infinity', ''), (51, 'infinity', ''), (52, '2999-01-01', '')")
    world.sql("insert into s values (53, '0044-03-15 BC', '')")
    chosen = document(world)

    filling = filled(world, chosen)
    world.run(chosen)
    again = world.run(chosen)

    assert filling.plan.mark == "2024-01-10 00:00:00"
    assert column(world) == column(world, table="s")
    assert target_of(again).rows_inserted == 0


def test_rows_without_a_cursor_load_by_upsert_alone(world: World) -> None:
    days(world)
    world.sql("insert into s values (60, null, 'x')")

    watermark = Filling(world, document(world))
    assert not any(chunk.is_null for chunk in watermark.plan.chunks)
    assert [warning.code for warning in watermark.planned.warnings] == ["backfill.nulls_left"]
    filling = filled(world, document(world, "upsert"))

    assert filling.plan.chunks[-1].predicate == "at IS NULL"
    assert 60 in column(world)


@pytest.mark.parametrize(
    ("kind", "values", "window", "read"),
    [
        ("bigint", ["9007199254740993", "9007199254740995", "9223372036854775806"], 3e18, [2, 0, 0, 0]),
        ("numeric(30,10)", ["-0.0000000001", "0.25", "0.75", "NaN"], 0.5, [1, 1, 0]),
        ("smallint", ["-32768", "5", "5"], 20000, [1, 0, 0]),
    ],
)
def test_numbers_are_divided_exactly(
    world: World, kind: str, values: list[str], window: float, read: list[int]
) -> None:
    world.sql(f"create table s (id int, at {kind})")
    for number, value in enumerate(values):
        world.sql(f"insert into s values ({number}, '{value}')")
    chosen = document(world, window=window)

    filling = filled(world, chosen)
    world.run(chosen)

    assert [loaded.rows_read for loaded in filling.loaded] == read
    assert column(world) == list(range(len(values)))


def test_partitions_are_divided_on_their_own(world: World) -> None:
    days(world)
    world.sql("insert into s values (70, '2024-01-02', null), (71, '2024-01-03', 'it''s')")
    chosen = document(world, partitionBy=["repo"], window="400d")

    filling = filled(world, chosen)
    world.run(chosen)

    assert [dict(chunk.partition) for chunk in filling.plan.chunks] == [
        {"repo": "it's"},
        {"repo": "r0"},
        {"repo": "r1"},
        {"repo": None},
    ]
    assert "repo IS NULL AND at < " in filling.plan.chunks[-1].predicate
    assert column(world) == column(world, table="s")


def test_a_start_excludes_what_is_below_it_for_good(world: World) -> None:
    days(world)
    chosen = document(world, startFrom="2024-01-03")
    chosen["nodes"][-1]["watermarkLag"] = "30d"

    filled(world, chosen)
    world.run(chosen)
    world.run(chosen)

    assert column(world, "min(id)") == [4]
    assert column(world) == column(world, table="s")[4:]
    del chosen["nodes"][-1]["watermarkLag"]
    assert Filling(world, chosen, ChunkRange(None, "2024-01-05")).plan.chunks[0].lower == "2024-01-03 00:00:00"


@pytest.mark.parametrize("values", [[], ["2024-01-01"], ["2024-01-01", "2024-01-01"]])
def test_a_source_without_a_history_loads_completely(world: World, values: list[str]) -> None:
    world.sql("create table s (id serial, at timestamp)")
    for value in values:
        world.sql("insert into s (at) values (%s)", value)
    chosen = document(world)

    filling = filled(world, chosen)
    world.run(chosen)

    assert len(filling.plan.chunks) == bool(values)
    assert len(column(world)) == len(values)


def test_a_query_is_divided_like_a_table(world: World) -> None:
    days(world)
    chosen = document(world)
    query = f"SELECT id, at, repo FROM {world.schema}.s WHERE id <> 3 -- not this one"
    chosen["nodes"][0]["config"] = {"query": query}

    filled(world, chosen)
    world.run(chosen)

    assert column(world) == [i for i in column(world, table="s") if i != 3]


# --- attempts ---------------------------------------------------------------------------------------------------


def test_a_chunk_that_is_tried_again_after_its_commit_reports_it(world: World) -> None:
    days(world)
    filling, run = Filling(world, document(world)), str(uuid.uuid4())
    first = filling.load(filling.plan.chunks[0], run_id=run)

    again = filling.load(filling.plan.chunks[0], run_id=run, attempt=2)

    assert target_of(again).rows_inserted == target_of(first).rows_inserted == len(column(world))


def test_an_older_run_of_a_chunk_cannot_commit_after_a_newer_one(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    one, other = filling.plan.chunks
    zombie, beside = filling.job(one), filling.job(other)
    filling.load(one)

    load_chunk(beside, world.memory.ports())  # another chunk, though its token is older
    with pytest.raises(LeaseLost):
        load_chunk(zombie, world.memory.ports())

    assert column(world) == column(world, table="s")[:-1]


def test_no_chunk_can_commit_after_the_end(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    zombie = filling.job(filling.plan.chunks[0])
    filling.load_all()
    filling.finish()

    with pytest.raises(LeaseLost):
        load_chunk(zombie, world.memory.ports())


def test_a_load_from_before_the_plan_cannot_commit(world: World) -> None:
    days(world)
    chosen = document(world)
    zombie = world.job(chosen)
    Filling(world, chosen)

    with pytest.raises(LeaseLost):
        run_pipeline(zombie, world.memory.ports())


def test_chunks_load_into_a_new_table_at_the_same_time(world: World) -> None:
    days(world)
    filling = Filling(world, document(world, window="3d"))

    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(filling.load, filling.plan.chunks))
    filling.finish()

    assert all(map(reconciles, reports))
    assert column(world) == column(world, table="s")[:-1]


def test_the_end_of_a_backfill_is_reached_once(world: World) -> None:
    days(world)
    filling, run = Filling(world, document(world)), str(uuid.uuid4())
    filling.load_all()
    filling.finish(run_id=run)
    world.run(document(world))
    world.sql("insert into s values (90, '2024-02-01', '')")
    world.run(document(world))

    filling.finish(run_id=run, attempt=2)

    assert world.sql("select value from flow_meta.pipeline_watermarks where target_schema = %s", world.schema) == [
        ("2024-02-01 00:00:00",)
    ]


# --- what is refused --------------------------------------------------------------------------------------------


def test_a_table_with_missing_chunks_refuses_other_loads(world: World) -> None:
    days(world)
    chosen = document(world)
    filling = Filling(world, chosen)
    filling.load(filling.plan.chunks[1])
    without = {name: value for name, value in chosen.items() if name != "backfill"}

    with pytest.raises(Terminal) as refused:
        world.run(without)
    filling.load(filling.plan.chunks[0])
    filling.finish()
    world.run(without)

    assert refused.value.code == "backfill.unfinished"
    assert column(world) == column(world, table="s")


def test_a_table_with_rows_is_not_filled_again(world: World) -> None:
    days(world)
    without = {name: value for name, value in document(world).items() if name != "backfill"}
    world.run(without)

    with pytest.raises(Terminal) as refused:
        Filling(world, document(world))

    assert refused.value.code == "backfill.target_filled"


@pytest.mark.parametrize(
    ("backfill", "code", "says"),
    [
        ({"window": "1s"}, "backfill.too_many_chunks", "at least 78s"),
        ({"window": 5}, "backfill.window_mismatch", "is a number"),
        ({"column": "nowhere"}, "backfill.column_differs", "unchanged"),
        ({"startFrom": "2030-01-01"}, "backfill.start_after_end", "2024-01-10"),
        ({"startFrom": "2024-01-01T00:00:00Z"}, "backfill.value_malformed", "has a time zone"),
        ({"partitionBy": ["nowhere"]}, "backfill.column_unknown", "nowhere"),
    ],
)
def test_a_plan_that_cannot_be_made_says_why(world: World, backfill: dict[str, Any], code: str, says: str) -> None:
    days(world)

    with pytest.raises(Terminal) as refused:
        Filling(world, document(world, **backfill))

    assert refused.value.code == code
    assert says in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize("name", ["repo", "nowhere"])
def test_a_cursor_that_has_no_ranges_is_refused(world: World, name: str) -> None:
    days(world)

    with pytest.raises(Terminal) as refused:
        Filling(world, document(world, "upsert", column=name))

    assert refused.value.code == ("backfill.column_unordered" if name == "repo" else "backfill.column_unknown")


@pytest.mark.parametrize(("source", "declared"), [("timestamp", "timestamp"), ("smallint", "integer")])
def test_a_declared_column_with_the_type_of_the_cursor_or_a_wider_one_is_filled(
    world: World, source: str, declared: str
) -> None:
    number = source == "smallint"
    at = "1 + i" if number else "timestamp '2024-01-01' + i * interval '1 day'"
    world.sql(f"create table s (id integer primary key, at {source})")
    world.sql(f"insert into s select i, {at} from generate_series(0, 9) i")
    chosen = document(world, window=5 if number else "5d")
    chosen["nodes"][-1]["columns"] = [{"name": "id", "type": "integer"}, {"name": "at", "type": declared}]

    filled(world, chosen)
    world.sql("delete from s where id = 3")
    rewound(world, chosen, None, None)
    world.run(chosen)

    assert column(world) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert column(world, "at") == column(world, "at", "s")


def test_a_target_that_rounds_the_cursor_is_refused(world: World) -> None:
    days(world)
    world.sql("create table t (id bigint, at timestamp(0), repo text)")

    with pytest.raises(Terminal) as refused:
        Filling(world, document(world))

    assert refused.value.code == "backfill.type_differs"


def test_a_chunk_is_refused_once_its_cursor_has_another_type(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    world.sql("alter table s alter at type timestamptz")

    with pytest.raises(Terminal) as refused:
        filling.load(filling.plan.chunks[0])

    assert refused.value.code == "backfill.type_changed"


def test_a_target_that_has_lost_a_chunk_refuses_the_next(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    filling.load(filling.plan.chunks[0])
    lost = world.memory.commits["load"]
    world.memory.commits["load"] = replace(lost, run_id=str(uuid.uuid4()))

    with pytest.raises(Terminal) as refused:
        filling.load(filling.plan.chunks[1])

    assert refused.value.code == "target.went_back"


# --- changes of the source --------------------------------------------------------------------------------------


def test_rows_that_arrive_below_the_cut_are_named_at_the_end(world: World) -> None:
    days(world)
    filling = Filling(world, document(world, partitionBy=["repo"]))
    filling.load_all()
    world.sql(
        "insert into s values (80, '2024-01-02 05:00', 'r1'), (81, '2024-01-02', 'new'), (82, '2024-01-10', 'r0')"
    )
    world.sql("delete from s where id = 18")

    report = filling.finish()

    changed = {change.ordinal: change.rows_now - change.rows_read for change in report.chunk_changes}
    added = next(c for c in filling.plan.chunks if c.partition == {"repo": "r1"})
    assert changed == {added.ordinal: 1, None: 1}
    (warning,) = [warning for warning in report.warnings if warning.code == "backfill.rows_added"]
    assert f"chunks {added.ordinal} (1 more)" in warning.message


@pytest.mark.parametrize(
    "change", ["truncate t", "delete from t where id = 2", "insert into t select 90, max(at) from t"]
)
def test_rows_that_others_delete_from_the_table_between_chunks_are_counted_at_the_end(
    world: World, change: str
) -> None:
    days(world)
    filling = Filling(world, document(world))
    filling.load(filling.plan.chunks[0])
    world.sql(change)
    filling.load(filling.plan.chunks[1])

    warnings = filling.finish().warnings

    assert [warning.code for warning in warnings] == ([] if change.startswith("insert") else ["backfill.rows_gone"])
    assert not warnings or "and the chunks have inserted 18" in warnings[0].message


@pytest.mark.parametrize("replaced", [False, True])
def test_a_row_that_moves_out_of_a_loaded_chunk_is_named_at_the_end(world: World, replaced: bool) -> None:
    days(world)
    chosen = document(world)
    filling = Filling(world, chosen)
    filling.load(filling.plan.chunks[0])
    world.sql("update s set at = '2024-01-09 06:00' where id = 3")
    if replaced:  # the number of rows is then the same
        world.sql("insert into s values (80, '2024-01-02 05:00', 'r1')")
    filling.load(filling.plan.chunks[1])

    report = filling.finish()
    twice = column(world).count(3)
    rewound(world, chosen, filling.plan.chunks[0].lower, filling.plan.chunks[0].upper)
    world.run(chosen)

    (warning,) = [warning for warning in report.warnings if warning.code == "backfill.rows_moved"]
    assert f"chunks 1 ({'as many, with other values' if replaced else '1 fewer'})" in warning.message
    assert twice == 2
    assert column(world) == column(world, table="s")


def test_a_row_that_moves_is_no_matter_for_an_upsert(world: World) -> None:
    days(world)
    chosen = document(world, "upsert")
    filling = Filling(world, chosen)
    filling.load(filling.plan.chunks[0])
    world.sql("update s set at = '2024-01-09 06:00' where id = 3")
    filling.load(filling.plan.chunks[1])
    ended = filling.finish()
    world.run(chosen)

    assert ended.warnings == []
    assert column(world) == column(world, table="s")


def test_nothing_is_reported_of_a_source_that_stayed_the_same(world: World) -> None:
    days(world)
    world.sql("insert into s values (60, null, 'x'), (61, '-infinity', 'x')")
    filling = Filling(world, document(world, "upsert"))
    filling.load_all()

    report = filling.finish()

    assert report.chunk_changes == []
    assert report.warnings == []


def test_rejected_rows_of_one_chunk_stay_open_when_others_load(world: World) -> None:
    days(world)
    chosen = document(world)
    chosen["nodes"][1]["rowLevel"] = [{"type": "notOneOf", "field": "id", "values": [1, 17], "onFail": "skip"}]
    filling = Filling(world, chosen)

    reports = filling.load_all()
    filling.finish()

    assert all(map(reconciles, reports))
    assert world.sql('select "sourceFile" like %s, status from rejected order by id', "%at < %") == [
        (True, "open"),
        (True, "open"),
    ]


def test_a_chunk_whose_rows_are_all_rejected_is_loaded(world: World) -> None:
    days(world)
    chosen = document(world)
    chosen["nodes"][1]["rowLevel"] = [{"type": "range", "field": "id", "min": 10, "onFail": "skip"}]
    chosen["nodes"][-1]["failAtRejectedPct"] = 0
    filling = Filling(world, chosen)

    reports = filling.load_all()
    ended = filling.finish()
    world.run(chosen)

    assert [target_of(report).rows_rejected for report in reports] == [10, 0]
    assert ended.warnings == []
    assert column(world) == column(world, table="s")[10:]
    assert world.sql("select count(*) from rejected where status = 'open'") == [(10,)]


# --- rewinds ----------------------------------------------------------------------------------------------------


def rewound(world: World, chosen: dict[str, Any], lower: str | None, upper: str | None) -> list[RunReport]:
    """Load a range again, with its end, and return the reports of its chunks."""
    again = Filling(world, chosen, ChunkRange(lower, upper))
    reports = again.load_all(replaces=True)
    again.finish()
    return reports


def test_a_chunk_that_is_loaded_again_before_the_end_replaces_its_rows(world: World) -> None:
    days(world)
    chosen = document(world, partitionBy=["repo"])
    filling = Filling(world, chosen)
    filling.load_all()
    world.sql("update s set id = id + 100 where repo = 'r1' and at < '2024-01-03'")
    filling.loaded = [loaded for loaded in filling.loaded if loaded.chunk.partition != {"repo": "r1"}]

    filling.load_all([chunk for chunk in filling.plan.chunks if chunk.partition == {"repo": "r1"}], replaces=True)
    ended = filling.finish()
    world.run(chosen)

    assert ended.chunk_changes == []
    assert column(world) == column(world, table="s")


@pytest.mark.parametrize("mode", ["incremental_watermark", "upsert"])
def test_a_rewind_brings_the_rows_that_the_source_has_now(world: World, mode: str) -> None:
    days(world)
    chosen = document(world, mode)
    filled(world, chosen)
    world.run(chosen)
    world.sql("update s set repo = 'corrected' where id between 4 and 9")
    world.sql("insert into s values (95, '2024-01-05', 'late')")
    world.sql("insert into t values (96, '2024-01-04 01:00', 'by a user')")

    reports = rewound(world, chosen, "2024-01-03", "2024-01-06")
    after = world.run(chosen)

    assert all(map(reconciles, reports))
    assert column(world) == sorted([*column(world, table="s"), 96])
    assert world.sql("select count(*) from t where repo = 'corrected'") == [(6,)]
    assert target_of(after).rows_inserted == 0
    if mode == "incremental_watermark":
        assert [w.message for report in reports for w in report.warnings] == [
            "6 rows of the range were replaced by 7 that the source has now."
        ]


def test_a_rewind_ends_where_the_next_load_begins(world: World) -> None:
    days(world)
    chosen = document(world)
    chosen["nodes"][-1]["watermarkLag"] = "2d"
    filled(world, chosen)
    world.run(chosen)

    rewound(world, chosen, "2024-01-07", None)
    after = world.run(chosen)

    assert target_of(after).rows_inserted == 0
    assert column(world) == column(world, table="s")


def test_a_rewind_replaces_the_rows_of_a_partition_that_has_vanished(world: World) -> None:
    days(world)
    chosen = document(world, partitionBy=["repo"])
    filled(world, chosen)
    world.run(chosen)
    world.sql("delete from s where repo = 'r1' and at between '2024-01-02' and '2024-01-04'")

    rewound(world, chosen, "2024-01-02", "2024-01-05")

    assert column(world) == column(world, table="s")


def test_a_rewind_deletes_the_rows_of_a_range_that_is_empty_in_the_source(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)
    world.run(chosen)
    world.sql("delete from s where at >= '2024-01-02' and at < '2024-01-04'")

    reports = rewound(world, chosen, "2024-01-02", "2024-01-04")

    assert all(map(reconciles, reports))
    assert [w.message for report in reports for w in report.warnings] == [
        "4 rows of the range were replaced by 0 that the source has now."
    ]
    assert column(world) == column(world, table="s")


def test_a_source_that_has_lost_all_rows_deletes_none_of_the_target(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)
    before = column(world)
    world.sql("delete from s")

    with pytest.raises(Terminal) as refused:
        Filling(world, chosen, ChunkRange("2024-01-02", "2024-01-04"))

    assert refused.value.code == "source.empty"
    assert column(world) == before


def test_a_rewind_that_would_delete_too_many_rows_waits_for_an_approval(world: World) -> None:
    days(world)
    chosen = document(world)
    chosen["nodes"][-1]["hold"] = {"maxDecreasePct": 10}
    filled(world, chosen)
    before = column(world)
    world.sql("delete from s where at < '2024-01-03'")
    again, run = Filling(world, chosen, ChunkRange(None, "2024-01-03")), str(uuid.uuid4())

    with pytest.raises(Held) as held:
        again.load(again.plan.chunks[0], run_id=run, replaces=True)
    waiting = column(world)
    approved = again.job(again.plan.chunks[0], run_id=run, attempt=2, replaces=True)
    load_chunk(replace(approved, approved={"load": held.value.staged}), world.memory.ports())

    assert held.value.reasons[0].message.startswith("The table would change from 18 to 14 rows")
    assert waiting == before
    assert column(world) == before[4:]


def test_a_rewind_by_upsert_says_how_many_rows_stay(world: World) -> None:
    days(world)
    chosen = document(world, "upsert")
    filled(world, chosen)
    world.sql("delete from s where id in (2, 3)")
    world.sql("update s set repo = 'corrected' where id = 4")

    reports = rewound(world, chosen, "2024-01-02", "2024-01-05")

    assert [(w.code, w.message.split(":")[0]) for report in reports for w in report.warnings] == [
        ("backfill.range_left", "2 rows of the range stay in the target")
    ]
    assert world.sql("select repo from t where id in (2, 4) order by id") == [("r0",), ("corrected",)]


def test_a_range_without_an_end_of_an_empty_source_says_that_nothing_is_loaded(world: World) -> None:
    days(world)
    chosen = document(world, "upsert")
    filled(world, chosen)
    world.sql("delete from s")

    report = plan_backfill(world.job(chosen, chunk_range=ChunkRange("2024-01-02")), world.memory.ports())

    assert report.plan is not None
    assert report.plan.chunks == ()
    assert [warning.code for warning in report.warnings] == ["backfill.range_cut"]


def test_a_range_that_reaches_above_the_watermark_says_where_it_ends(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)

    report = plan_backfill(world.job(chosen, chunk_range=ChunkRange("2024-01-02", "2025-01-01")), world.memory.ports())
    without_end = plan_backfill(world.job(chosen, chunk_range=ChunkRange("2024-01-02")), world.memory.ports())

    (warning,) = report.warnings
    assert "ends at 2024-01-10 00:00:00, where the next load of the target begins" in warning.message
    assert without_end.warnings == []
    assert without_end.plan is not None
    assert without_end.plan.cut == "2024-01-10 00:00:00"


def test_a_range_that_the_next_load_reads_anyway_is_refused(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)

    with pytest.raises(Terminal) as refused:
        Filling(world, chosen, ChunkRange("2024-02-01"))

    assert refused.value.code == "backfill.range_empty"


def test_ranges_that_overlap_can_be_loaded_again_one_after_the_other(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)
    world.run(chosen)
    world.sql("delete from s where id = 5")

    for lower, upper in (("2024-01-02", "2024-01-06"), ("2024-01-03", "2024-01-08"), (None, "2024-01-04")):
        rewound(world, chosen, lower, upper)
    after = world.run(chosen)

    assert target_of(after).rows_inserted == 0
    assert column(world) == column(world, table="s")


def test_rows_of_unknown_runs_cannot_be_replaced(world: World) -> None:
    days(world)
    world.sql("create table t (id bigint, at timestamp, repo text)")
    chosen = document(world)
    with pytest.raises(Terminal) as before_the_end:
        Filling(world, chosen, ChunkRange(None, "2024-01-04"))
    filled(world, chosen)

    with pytest.raises(Terminal) as refused:
        Filling(world, chosen, ChunkRange(None, "2024-01-04"))

    assert before_the_end.value.code == "backfill.not_ended"
    assert refused.value.code == "backfill.range_unknown"


def test_a_trigger_that_protects_rows_stops_a_rewind(world: World) -> None:
    days(world)
    chosen = document(world)
    filled(world, chosen)
    world.sql("create function protect() returns trigger language plpgsql as 'begin return null; end'")
    world.sql("create trigger protects before delete on t for each row execute function protect()")

    with pytest.raises(Terminal) as refused:
        rewound(world, chosen, "2024-01-02", "2024-01-04")

    assert refused.value.code == "backfill.rows_survived"
    assert column(world) == column(world, table="s")[:-1]


def test_rows_are_written_at_the_pace_of_the_run(world: World) -> None:
    days(world)
    filling = Filling(world, document(world, window="100d"))
    world.memory.writes = WriteBudget(rows_per_second=6)
    began = time.monotonic()

    report = filling.load(filling.plan.chunks[0])

    assert target_of(report).rows_inserted == 18
    assert time.monotonic() - began >= 3


def test_each_statement_that_reads_or_sums_takes_from_the_budget_of_requests(world: World) -> None:
    days(world)
    filling = Filling(world, document(world))
    taken: list[int] = []
    world.memory.rate = Rates(taken)

    filling.load_all()

    assert taken == [2, 2]


class Rates:
    """A budget of requests that only counts them."""

    def __init__(self, taken: list[int]) -> None:
        self._taken = taken

    def take(self, requests: int = 1) -> None:
        self._taken.append(requests)
