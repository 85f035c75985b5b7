"""Backfills of web services: in chunks if they select records between two times, else as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executors.errors import Terminal
from executors.model import ChunkRange
from tests.connectors.http_api.service import Service, serving
from tests.executors.conformance.backfills import Filling
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

SINCE = {"parameter": "updated_since", "field": "updated_at", "start": "2024-01-01T00:00:00Z"}
TODAY = datetime.now(UTC).replace(microsecond=0)


def record(number: int, days: int, **more: Any) -> dict[str, Any]:
    moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=days)
    return {"id": number, "updated_at": f"{moment:%Y-%m-%dT%H:%M:%SZ}", **more}


@pytest.fixture
def service(world: World) -> Iterator[Service]:
    world.create_table("create table t (id bigint primary key, updated_at timestamptz, note text)")
    records = [record(n, 20 * n, **({"note": "early"} if n == 1 else {})) for n in range(10)]
    with serving(Service(records, token="s3cret")) as started:
        world.stores["service"] = started.connection()
        yield started


def document(world: World, service: Service, incremental: dict[str, Any], **backfill: Any) -> dict[str, Any]:
    made = world.document(mode="upsert")
    cursor = {"type": "cursor", "parameter": "cursor", "path": "$.meta.next"}
    config = {"url": f"{service.url}cursor", "records": "$.data", "pages": cursor, "incremental": incremental}
    made["nodes"][0] = {
        "id": "src",
        "kind": "source",
        "connector": "http_api",
        "connection": "service",
        "config": config,
    }
    return {**made, "backfill": backfill}


def asked(service: Service) -> list[tuple[str | None, str | None]]:
    """Return the bounds that were asked for, and forget them."""
    first = [query for _, query in service.requests if "cursor" not in query]
    service.requests.clear()
    return [(query.get("updated_since"), query.get("updated_before")) for query in first]


def test_a_service_is_divided_by_two_times(world: World, service: Service) -> None:
    days = (TODAY - datetime(2024, 1, 1, tzinfo=UTC)).days
    chosen = document(world, service, {**SINCE, "until": "updated_before"}, window=f"{days - 80}d")
    filling = Filling(world, chosen)

    reports = filling.load_all()
    chunks = asked(service)
    filling.finish()
    service.records += [record(20, days, late=True), record(21, 3)]
    after = world.run(chosen)

    assert [loaded.rows_read for loaded in filling.loaded] == [10, 0]
    bound = filling.plan.chunks[0].upper
    assert bound is not None
    minute_before = datetime.fromisoformat(bound) - timedelta(minutes=1)
    cut = datetime.fromisoformat(str(filling.plan.cut))
    assert chunks == [
        (SINCE["start"], f"{datetime.fromisoformat(bound):%Y-%m-%dT%H:%M:%SZ}"),
        (f"{minute_before:%Y-%m-%dT%H:%M:%SZ}", f"{cut:%Y-%m-%dT%H:%M:%SZ}"),
    ]
    assert timedelta(minutes=5) < datetime.now(UTC) - cut < timedelta(minutes=30)
    assert asked(service) == [(f"{cut - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}", None)]
    assert all(map(reconciles, reports))
    assert target_of(after).rows_inserted <= 1
    (columns,) = world.sql(
        "select record->'sources'->0->'state'->'columns' from flow_meta.load_commits"
        " where target_schema = %s and record->'sources'->0->'state'->'columns' <> 'null' order by token limit 1",
        world.schema,
    )
    assert {name for name, _ in columns[0]} == {"id", "updated_at", "note"}


def test_records_at_the_bounds_of_chunks_load_once(world: World, service: Service) -> None:
    chosen = document(world, service, {**SINCE, "until": "updated_before"}, window="5000d")
    filling = Filling(world, chosen)
    at, again = ("2024-04-10 00:00:00+00:00", Filling(world, chosen, ChunkRange("2024-03-21", "2024-05-20")))

    filling.load_all()
    filling.finish()
    reports = again.load_all(replaces=True)

    assert [target_of(report).rows_read for report in reports] == [3]
    assert again.plan.cut == "2024-05-20 00:00:00+00:00" > at
    assert [row[0] for row in world.sql("select id from t order by 1")] == list(range(10))


def test_a_rewind_leaves_the_state_of_the_service(world: World, service: Service) -> None:
    chosen = document(world, service, {**SINCE, "until": "updated_before"}, window="5000d")
    filling = Filling(world, chosen)
    filling.load_all()
    filling.finish()
    again = Filling(world, chosen, ChunkRange("2024-03-21", "2024-05-20"))
    again.load_all(replaces=True)
    again.finish()
    asked(service)

    world.run(chosen)

    cut = datetime.fromisoformat(str(filling.plan.cut))
    assert asked(service) == [(f"{cut - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}", None)]


def test_a_service_without_an_upper_bound_is_one_chunk(world: World, service: Service) -> None:
    chosen = document(world, service, SINCE)
    filling = Filling(world, chosen)

    filling.load_all()
    filling.finish()
    asked(service)
    after = world.run(chosen)

    assert (filling.plan.cursor_kind, [chunk.predicate for chunk in filling.plan.chunks]) == (
        "opaque-token",
        ["all rows"],
    )
    assert asked(service) == [("2024-06-28T23:59:00Z", None)]
    assert target_of(after).rows_loaded == 0
    with pytest.raises(Terminal) as refused:
        Filling(world, chosen, ChunkRange("2024-03-21", None))
    assert refused.value.code == "backfill.not_supported"


def test_an_unfinished_backfill_leaves_no_state(world: World, service: Service) -> None:
    chosen = document(world, service, {**SINCE, "until": "updated_before"}, window="5000d")
    Filling(world, chosen).load_all()
    asked(service)

    world.run({name: value for name, value in chosen.items() if name != "backfill"})

    assert asked(service) == [(SINCE["start"], None)]


def test_numbers_that_only_grow_cannot_be_divided(world: World, service: Service) -> None:
    counted = {"parameter": "after", "until": "below", "field": "id", "start": "0"}

    with pytest.raises(Terminal) as refused:
        Filling(world, document(world, service, counted))

    assert refused.value.code == "backfill.column_unordered"
