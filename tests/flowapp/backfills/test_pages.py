"""The page of a backfill, its API and its audit log."""

from __future__ import annotations

import pytest
from django.db import transaction

from executors.model import Chunk as PlannedChunk
from executors.model import ChunkPlan
from executors.report import RunReport
from flowapp.backfills.chunk_map import map_chunks
from flowapp.backfills.models import BackfillAction, Chunk, ChunkStatus
from flowapp.backfills.plans import park_with_plan
from flowapp.backfills.selectors import newest_backfill
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.backfills.engine import execute, execute_all
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/w/alices-team/backfills/history/"
API = "/api/pipelines/history/"
HERE = {"X-Flow-Workspace": "alices-team"}


def start(pipeline, engine) -> Run:
    return execute(queue_run(pipeline, Trigger.MANUAL), engine)


def test_a_pipeline_without_a_backfill_explains_what_to_add(make, as_):
    make(backfill=None)
    text = words(as_("editor").get(PAGE))
    assert "This pipeline has no backfill" in text
    assert '"window": "30d"' in text


def test_before_the_first_run_the_page_offers_to_start_it(history, as_):
    assert "Start the backfill" in words(as_("editor").get(PAGE))
    assert "Start the backfill" not in words(as_("viewer").get(PAGE))


def test_a_backfill_in_progress_shows_its_chunks_and_is_asked_again(history, engine, as_):
    start(history, engine)
    execute_all(history, engine, most=1)
    answer = as_("viewer").get(PAGE)
    assert "1 of 3 chunks loaded" in words(answer)
    assert b'hx-trigger="every 3s"' in answer.content
    assert "Pause" not in words(answer)


def test_a_finished_backfill_is_not_asked_again(history, engine, as_):
    start(history, engine)
    execute_all(history, engine)
    answer = as_("viewer").get(PAGE)
    assert "The history is loaded" in words(answer)
    assert b"every 3s" not in answer.content


def test_failed_chunks_are_shown_with_their_errors_and_can_be_retried(history, engine, as_):
    engine.failing = {2}
    start(history, engine)
    execute_all(history, engine)
    editor = as_("editor")
    text = words(editor.get(f"{PAGE}?status=failed"))
    assert "1 chunk failed" in text
    assert "source.unreadable: The source cannot be read." in text
    assert "Retry 1 failed chunk" in text
    assert editor.post(f"{PAGE}retry/").status_code == 302
    assert Chunk.objects.get(ordinal=2).status == ChunkStatus.PENDING


def test_people_with_rights_pause_resume_and_run_a_range_again_with_their_names_and_reasons(history, engine, as_):
    start(history, engine)
    editor = as_("editor")
    editor.post(f"{PAGE}pause/", {"reason": "month end"})
    execute_all(history, engine)
    editor.post(f"{PAGE}resume/")
    execute_all(history, engine)
    editor.post(f"{PAGE}rewind/", {"from": "10", "to": "20", "reason": "wrong prices"})
    done = BackfillAction.objects.order_by("id").values_list("action", "done_as", "reason")
    assert list(done)[1:] == [
        ("pause", "editor@example.com", "month end"),
        ("resume", "editor@example.com", ""),
        ("rewind", "editor@example.com", "wrong prices"),
    ]
    assert "wrong prices" in words(as_("viewer").get(PAGE))


@pytest.mark.parametrize("act", ["pause", "resume", "retry", "rewind"])
def test_viewers_cannot_act_and_strangers_do_not_see_the_page(history, engine, as_, act):
    start(history, engine)
    assert as_("viewer").post(f"{PAGE}{act}/", {"reason": "no"}).status_code == 403
    assert as_("stranger").get(PAGE).status_code == 404
    assert not newest_backfill(history).paused


def test_the_status_has_the_shape_that_programs_rely_on(history, engine, as_):
    start(history, engine)
    execute_all(history, engine, most=1)
    found = as_("viewer").get(f"{API}status/", headers=HERE).json()
    assert (found["pipeline_id"], found["phase"]) == ("history", "backfilling")
    none = {"pending": 0, "failed": 0, "empty": 0, "outdated": 0}
    assert found["chunks"] == {"done": 1, "running": 2, "total": 3, **none}
    assert found["throughput"]["rows_per_sec"] > 0
    assert found["throughput"]["bytes_per_sec"] > 0
    assert found["eta_seconds"] >= 0
    assert (found["rate_budget"], found["rate_budget_consumed_pct"], found["error"]) == (None, None, None)
    assert found["started_at"].endswith("Z")


def test_a_pipeline_without_a_backfill_has_no_phase(make, as_):
    make(backfill=None)
    assert as_("viewer").get(f"{API}status/", headers=HERE).json()["phase"] is None


def test_programs_can_do_what_people_can(history, engine, as_):
    start(history, engine)
    editor = as_("editor")
    json = {"content_type": "application/json", "headers": HERE}
    assert editor.post(f"{API}backfill/pause/", {"reason": "x"}, **json).json()["paused"] is True
    assert editor.post(f"{API}backfill/pause/", {}, **json).json()["code"] == "backfill.state"
    assert editor.post(f"{API}backfill/resume/", {}, **json).status_code == 202
    execute_all(history, engine)
    body = {"from": "10", "to": "40", "reason": "corrected"}
    answer = editor.post(f"{API}backfill/rewind/", body, **json)
    assert (answer.status_code, answer.json()["phase"]) == (202, "planning")
    assert as_("viewer").post(f"{API}backfill/pause/", {}, **json).status_code == 403


def test_programs_can_list_the_chunks(history, engine, as_):
    start(history, engine)
    execute_all(history, engine)
    found = as_("viewer").get(f"{API}backfill/chunks/?status=done", headers=HERE).json()["results"]
    assert [(one["chunk"], one["status"], one["rowsRead"], one["rows"]) for one in found] == [
        (n, "done", 10, 9) for n in (1, 2, 3)
    ]


def plan_days(history, days: int) -> None:
    """Plan a chunk for each day, without an engine."""
    run = queue_run(history, Trigger.MANUAL)
    chunks = tuple(
        PlannedChunk(n, "at", f"{2000 + n // 360}-{n // 30 % 12 + 1:02}-{n % 30 + 1:02}", None)
        for n in range(1, days + 1)
    )
    with transaction.atomic():
        park_with_plan(run, RunReport(plan=ChunkPlan("monotonic", "at", "date", None, None, chunks)))


def test_a_map_has_a_line_for_each_year_or_month_and_cells_while_they_are_few(history, sent):
    plan_days(history, 400)
    found = map_chunks(newest_backfill(history))
    assert found.shows_cells
    assert [line.label for line in found.lines][:2] == ["2000-01", "2000-02"]
    assert found.lines[-1].label == "2001"
    assert sum(len(line.cells) for line in found.lines) == 400


def test_ten_thousand_chunks_are_shown_as_shares_with_few_queries(history, sent, as_, django_assert_max_num_queries):
    plan_days(history, 10_000)
    viewer = as_("viewer")
    with django_assert_max_num_queries(30):
        answer = viewer.get(PAGE)
    assert len(answer.content) < 400_000
    assert "of 10,000 chunks loaded" in words(answer)


def test_the_run_of_a_chunk_says_which_rows_it_loads(history, engine, as_):
    run = start(history, engine)
    chunk = Chunk.objects.get(ordinal=1)
    viewer = as_("viewer")
    assert "Loads chunk 1 of a backfill: at >= '0' AND at < '30'" in words(
        viewer.get(f"/w/alices-team/runs/{chunk.run_id}/")
    )
    assert "0 of 3 chunks loaded" in words(viewer.get(f"/w/alices-team/runs/{run.pk}/"))


def test_the_command_line_lists_chunks_page_by_page(history, sent, flow, settings):
    settings.FLOW_WORKSPACE = "alices-team"
    plan_days(history, 60)
    first = flow("backfill", "status", "history", "--chunks", "all", "--json").json
    assert ([one["chunk"] for one in first["list"]], first["next"]) == (list(range(1, 51)), 50)
    rest = flow("backfill", "status", "history", "--chunks", "all", "--after", "50", "--json").json
    assert ([one["chunk"] for one in rest["list"]], rest["next"]) == (list(range(51, 61)), None)


def test_a_map_of_shares_counts_months_or_blocks_where_there_are_few_years(history, sent):
    plan_days(history, 700)
    backfill = newest_backfill(history)
    assert [line.label for line in map_chunks(backfill).lines][:2] == ["2000-01", "2000-02"]
    backfill.chunks.update(lower="7")
    backfill.chunks.filter(ordinal__lte=10).update(status=ChunkStatus.DONE)
    first, second = map_chunks(backfill).lines
    assert [(line.label, line.first, line.last) for line in (first, second)] == [
        ("1\u2013500", 1, 500),
        ("501\u2013700", 501, 700),
    ]
    assert first.words == "10 done, 490 pending"
