"""Marks where they stand, their copies, and changing them."""

from __future__ import annotations

import pytest

from executors.errors import Failure, Terminal
from executors.model import LoadCommit
from flowapp.runs.models import Run
from flowapp.watermarks.models import MarkCopy
from flowapp.watermarks.places import place_of, places_of
from flowapp.watermarks.selectors import get_mark, saved_mark
from flowapp.watermarks.serializers import WatermarkSerializer
from flowapp.watermarks.services import copy_mark, reset_mark, set_mark
from ir.errors import FlowError
from tests.flowapp.watermarks.conftest import incremental_nodes

pytestmark = pytest.mark.django_db
BY = "ann@example.com"


@pytest.fixture
def place(following):
    return place_of(following, "load")


def test_only_targets_that_follow_a_mark_have_one(following, pipeline):
    assert places_of(pipeline) == []
    with pytest.raises(FlowError, match=r"watermark\.unknown"):
        place_of(following, "files")


def test_before_the_first_load_there_is_no_mark(place):
    mark = get_mark(place)
    assert (mark.value, mark.column, mark.trouble, mark.changes) == (None, "upd", "", [])


def test_looking_at_a_mark_makes_nothing_in_the_warehouse(place, sql):
    made = "select to_regclass('flow_meta.pipeline_watermarks')"
    sql("drop schema if exists flow_meta cascade")
    assert get_mark(place).value is None
    assert sql(made) == [(None,)]
    set_mark(place, "2026-01-01T10:00:00", "start here", BY)
    assert sql(made) != [(None,)]


def test_a_mark_is_set_reset_and_every_change_kept(place):
    assert set_mark(place, "2026-01-01T10:00:00.123456", "start here", BY).value == "2026-01-01 10:00:00.123456"
    mark = reset_mark(place, "start over", BY)
    assert mark.value is None
    assert [(c.action, c.by, c.reason, c.old, c.new) for c in mark.changes] == [
        ("reset", BY, "start over", "2026-01-01 10:00:00.123456", None),
        ("set", BY, "start here", None, "2026-01-01 10:00:00.123456"),
    ]


def test_a_value_of_another_type_is_refused(place):
    with pytest.raises(Terminal, match=r"watermark\.value_malformed"):
        set_mark(place, "tomorrow", "why not", BY)


def test_a_value_later_than_the_database_s_clock_is_refused(place):
    with pytest.raises(Terminal, match=r"watermark\.value_in_future"):
        set_mark(place, "2099-01-01T10:00:00", "skip", BY)


@pytest.mark.parametrize("change", [lambda p: set_mark(p, "2026-01-01", " ", BY), lambda p: reset_mark(p, "", BY)])
def test_a_change_needs_a_reason(place, change):
    with pytest.raises(FlowError, match=r"watermark\.reason_required"):
        change(place)


def test_a_table_that_is_not_there_has_no_type_to_read_a_value_in(place, sql):
    sql("drop table numbers")
    with pytest.raises(Terminal, match=r"watermark\.column_missing"):
        set_mark(place, "2026-01-01T10:00:00", "start here", BY)


def test_while_the_warehouse_is_down_the_copy_is_shown_with_its_time(place, down):
    set_mark(place, "2026-01-01T10:00:00", "start here", BY)
    seen_at = MarkCopy.objects.get().seen_at
    down()
    mark = get_mark(place)
    assert (mark.value, mark.type, mark.seen_at) == ("2026-01-01 10:00:00", "timestamp without time zone", seen_at)
    document = WatermarkSerializer(mark).data
    assert (document["isLive"], document["changes"]) == (False, [])
    assert document["trouble"]


def test_without_a_copy_nothing_is_made_up(place, down):
    down()
    mark = get_mark(place)
    assert (mark.value, mark.seen_at) == (None, None)
    assert mark.trouble


def test_nobody_changes_a_mark_that_cannot_be_reached(place, down):
    down()
    with pytest.raises(Failure):
        set_mark(place, "2026-01-01T10:00:00", "start here", BY)


def test_a_commit_brings_its_mark_along(following, place, schema):
    mark = {"column": "upd", "type": "timestamp without time zone", "value": "2026-01-01 10:00:00"}
    counts = {"mark": mark, "table": {"name": [schema, "numbers"], "oid": 1}}
    copy_mark(Run(pipeline=following), LoadCommit("r", "load", 1, counts))
    assert saved_mark(following, "load").copy.value == "2026-01-01 10:00:00"


@pytest.mark.parametrize("counts", [{}, {"mark": None, "table": {"name": ["s", "t"], "oid": 1}}])
def test_a_commit_without_a_mark_leaves_no_copy(following, counts):
    copy_mark(Run(pipeline=following), LoadCommit("r", "load", 1, counts))
    assert not MarkCopy.objects.exists()


def test_a_restore_to_before_the_first_mark_takes_the_copy_away(following, schema):
    mark = {"column": "upd", "type": "timestamp without time zone", "value": "2026-01-01 10:00:00"}
    table = {"name": [schema, "numbers"], "oid": 1}
    copy_mark(Run(pipeline=following), LoadCommit("r", "load", 1, {"mark": mark, "table": table}))
    copy_mark(Run(pipeline=following), LoadCommit("s", "load", 1, {"mark": None, "table": table, "restored": {}}))
    assert not MarkCopy.objects.exists()


def test_a_copy_of_another_table_s_mark_is_not_shown(following, place, save, schema):
    set_mark(place, "2026-01-01T10:00:00", "start here", BY)
    save(nodes=incremental_nodes(schema, table="others"))
    following.refresh_from_db()
    assert saved_mark(following, "load").copy is None


def test_a_pipeline_of_the_same_id_in_another_workspace_has_a_mark_of_its_own(place):
    set_mark(place, "2026-01-01T10:00:00", "start here", BY)
    place.pipeline.workspace_id = "6f1c1f9e-0000-4000-8000-00000000000f"
    assert place.key.tenant == "6f1c1f9e-0000-4000-8000-00000000000f"
