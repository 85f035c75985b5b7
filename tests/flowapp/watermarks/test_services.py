"""Watermarks in target databases, their copies, and their changes."""

from __future__ import annotations

import pytest

from executors.errors import Failure, Terminal
from executors.load_record import LoadCommit, LoadKind, TableIdentity, WatermarkValue
from flowapp.runs.models import Run
from flowapp.watermarks.models import WatermarkCopy
from flowapp.watermarks.selectors import get_watermark, plan_next_run, saved_watermark
from flowapp.watermarks.serializers import WatermarkSerializer
from flowapp.watermarks.services import copy_watermark, reset_watermark, set_watermark
from flowapp.watermarks.targets import find_watermark_target, list_watermark_targets
from ir.errors import FlowError
from tests.flowapp.watermarks.conftest import incremental_nodes

pytestmark = pytest.mark.django_db
BY = "ann@example.com"
WATERMARK = WatermarkValue("upd", "timestamp without time zone", "2026-01-01 10:00:00")


@pytest.fixture
def target(following):
    return find_watermark_target(following, "load")


def test_only_targets_that_follow_a_watermark_have_one(following, pipeline):
    assert list_watermark_targets(pipeline) == []
    with pytest.raises(FlowError, match=r"watermark\.unknown"):
        find_watermark_target(following, "files")


def test_before_the_first_load_there_is_no_watermark(target):
    watermark = get_watermark(target)
    assert (watermark.value, watermark.column, watermark.trouble, watermark.changes) == (None, "upd", "", [])


def test_looking_at_a_watermark_makes_nothing_in_the_warehouse(target, sql):
    made = "select to_regclass('flow_meta.pipeline_watermarks')"
    sql("drop schema if exists flow_meta cascade")
    assert get_watermark(target).value is None
    assert sql(made) == [(None,)]
    set_watermark(target, "2026-01-01T10:00:00", "start here", BY)
    assert sql(made) != [(None,)]


def test_a_watermark_is_set_and_reset_and_every_change_recorded(target):
    assert set_watermark(target, "2026-01-01T10:00:00.123456", "start here", BY).value == "2026-01-01 10:00:00.123456"
    watermark = reset_watermark(target, "start over", BY)
    assert watermark.value is None
    assert [(c.action, c.by, c.reason, c.old, c.new) for c in watermark.changes] == [
        ("reset", BY, "start over", "2026-01-01 10:00:00.123456", None),
        ("set", BY, "start here", None, "2026-01-01 10:00:00.123456"),
    ]


def test_a_value_of_another_type_is_refused(target):
    with pytest.raises(Terminal, match=r"watermark\.value_malformed"):
        set_watermark(target, "tomorrow", "why not", BY)


def test_a_value_later_than_the_database_s_clock_is_refused(target):
    with pytest.raises(Terminal, match=r"watermark\.value_in_future"):
        set_watermark(target, "2099-01-01T10:00:00", "skip", BY)


@pytest.mark.parametrize(
    "change", [lambda p: set_watermark(p, "2026-01-01", " ", BY), lambda p: reset_watermark(p, "", BY)]
)
def test_a_change_needs_a_reason(target, change):
    with pytest.raises(FlowError, match=r"reason\.required"):
        change(target)


def test_a_table_that_is_not_there_has_no_type_to_read_a_value_in(target, sql):
    sql("drop table numbers")
    with pytest.raises(Terminal, match=r"watermark\.column_missing"):
        set_watermark(target, "2026-01-01T10:00:00", "start here", BY)


def test_while_the_warehouse_is_down_the_copy_is_shown_with_its_time(target, down):
    set_watermark(target, "2026-01-01T10:00:00", "start here", BY)
    seen_at = WatermarkCopy.objects.get().seen_at
    down()
    watermark = get_watermark(target)
    assert (watermark.value, watermark.type, watermark.seen_at) == (
        "2026-01-01 10:00:00",
        "timestamp without time zone",
        seen_at,
    )
    document = WatermarkSerializer(watermark).data
    assert (document["isLive"], document["changes"]) == (False, [])
    assert document["trouble"]


def test_without_a_copy_nothing_is_made_up(target, down):
    down()
    watermark = get_watermark(target)
    assert (watermark.value, watermark.seen_at) == (None, None)
    assert watermark.trouble


def test_nobody_changes_a_watermark_that_cannot_be_reached(target, down):
    down()
    with pytest.raises(Failure):
        set_watermark(target, "2026-01-01T10:00:00", "start here", BY)


def test_a_commit_brings_its_watermark_along(following, target, schema):
    copy_watermark(
        Run(pipeline=following), LoadCommit("r", "load", 1, TableIdentity(schema, "numbers", 1), watermark=WATERMARK)
    )
    assert saved_watermark(following, "load").copy.value == "2026-01-01 10:00:00"


def test_a_commit_without_a_watermark_leaves_no_copy(following):
    copy_watermark(Run(pipeline=following), LoadCommit("r", "load", 1, TableIdentity("s", "t", 1)))
    assert not WatermarkCopy.objects.exists()


def test_a_restore_to_before_the_first_watermark_takes_the_copy_away(following, schema):
    table = TableIdentity(schema, "numbers", 1)
    copy_watermark(Run(pipeline=following), LoadCommit("r", "load", 1, table, watermark=WATERMARK))
    copy_watermark(Run(pipeline=following), LoadCommit("s", "load", 1, table, kind=LoadKind.RESTORE))
    assert not WatermarkCopy.objects.exists()


def test_a_copy_of_another_table_s_watermark_is_not_shown(following, target, save, schema):
    set_watermark(target, "2026-01-01T10:00:00", "start here", BY)
    save(nodes=incremental_nodes(schema, table="others"))
    following.refresh_from_db()
    assert saved_watermark(following, "load").copy is None


def test_a_pipeline_of_the_same_id_in_another_workspace_has_a_watermark_of_its_own(target):
    set_watermark(target, "2026-01-01T10:00:00", "start here", BY)
    target.pipeline.workspace_id = "6f1c1f9e-0000-4000-8000-00000000000f"
    assert target.key.tenant == "6f1c1f9e-0000-4000-8000-00000000000f"


def test_a_watermark_is_not_changed_by_who_has_not_seen_its_newest_value(target):
    seen = set_watermark(target, "2026-01-01T10:00:00", "start here", BY).revision
    moved = set_watermark(target, "2026-01-02T10:00:00", "a run moved it", BY)
    for change in (
        lambda: set_watermark(target, "2026-01-01T09:00:00", "late", BY, revision=seen),
        lambda: reset_watermark(target, "late", BY, revision=seen),
    ):
        with pytest.raises(Terminal, match=r"watermark\.stale.*2026-01-02 10:00:00"):
            change()
    assert set_watermark(target, "2026-01-01T09:00:00", "seen", BY, revision=moved.revision).revision != moved.revision


def test_a_watermark_that_was_reset_and_set_again_is_another_one(target):
    seen = set_watermark(target, "2026-01-01T10:00:00", "start here", BY).revision
    reset_watermark(target, "again", BY)
    assert set_watermark(target, "2026-01-01T10:00:00", "again", BY, revision="0").revision != seen


@pytest.mark.parametrize(
    ("value", "resets", "said"),
    [
        (None, False, "whose upd is 2026-01-02 09:45:00 or higher. It skips all lower rows."),
        ("2026-01-01T10:00:00", False, "The table holds 2 rows from there on."),
        ("2026-01-03T10:00:00", False, "also those from 2026-01-02 10:00:00 on that are not loaded yet"),
        (None, True, "whose upd is 2026-01-05 09:45:00 or higher."),
    ],
)
def test_what_the_next_run_does_is_said_before_a_change(target, sql, value, resets, said):
    sql("insert into numbers values (1, '2026-01-01 09:00'), (2, '2026-01-01 10:00'), (3, '2026-01-05 10:00')")
    set_watermark(target, "2026-01-02T10:00:00", "start here", BY)
    assert said in " ".join(plan_next_run(target, value, resets=resets))
    assert get_watermark(target).value == "2026-01-02 10:00:00"


def test_files_that_are_loaded_already_are_not_read_again(target, sql):
    set_watermark(target, "2026-01-02T10:00:00", "start here", BY)
    assert "also choose Load again" in " ".join(plan_next_run(target, "2026-01-01T10:00:00"))


def test_a_watermark_of_another_column_fails_the_next_run(target, save, schema, sql):
    set_watermark(target, "2026-01-02T10:00:00", "start here", BY)
    sql("alter table numbers add other date")
    save(nodes=incremental_nodes(schema, watermarkColumn="other"))
    target.pipeline.refresh_from_db()
    changed = find_watermark_target(target.pipeline, "load")
    assert get_watermark(changed).next_run[0].startswith("The next run fails")
    assert "or higher" in plan_next_run(changed, "2026-01-01")[0]
