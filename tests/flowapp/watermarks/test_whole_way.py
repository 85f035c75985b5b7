"""The whole way with the real engine: a load moves the watermark, its copy follows, and a person sets it back."""

from __future__ import annotations

import pytest

from flowapp.runs.dispatch import run_inline
from flowapp.runs.selectors import run_document
from flowapp.watermarks.selectors import get_watermark, saved_watermark
from flowapp.watermarks.services import set_watermark
from flowapp.watermarks.targets import find_watermark_target

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


def loaded(run) -> tuple[int, int]:
    (node,) = [node for node in run_document(run)["nodes"] if node["id"] == "load"]
    return node["rowsLoaded"], node["rowsBehindMark"]


def test_a_watermark_follows_the_loads_and_is_set_back_by_a_person(settings, tmp_path, following, sql):
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / following.workspace.slug / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,upd\n1,2026-01-01 10:00:00\n2,2026-01-01 11:00:00\n")
    assert loaded(run_inline(following)) == (2, 0)
    assert saved_watermark(following, "load").copy.value == "2026-01-01 11:00:00"

    sql("delete from numbers where id = 1")
    set_watermark(
        find_watermark_target(following, "load"), "2026-01-01T10:00:00", "the table lost rows", "ann@example.com"
    )
    run = run_inline(following, load_again="the table lost rows")
    assert loaded(run) == (1, 1)
    assert sorted(sql("select id from numbers")) == [(1,), (2,)]
    newest, *_ = get_watermark(find_watermark_target(following, "load")).changes
    assert (newest.action, newest.run_id, newest.new) == ("run", str(run.pk), "2026-01-01 11:00:00")
