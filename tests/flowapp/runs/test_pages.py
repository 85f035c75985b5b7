"""The list of runs and the page of one."""

from __future__ import annotations

import json
import re

import pytest
from django.utils import timezone

from executors.report import CheckReport, RunWarning
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.secrets import encrypt
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.models import NodeRun, RuleCount, Run, RunLog, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run
from flowapp.runs.sort_values import store_sort_values
from flowapp.runs.stored_report import StoredReport
from flowapp.runs.timeline import Timeline
from tests.browser.shown_worlds import JOIN
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
RUNS = "/w/alices-team/runs/"


def at(run: Run) -> str:
    return f"{RUNS}{run.pk}/"


@pytest.fixture
def queued(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


def load(run: Run, **changes: int) -> Run:
    """Let a run succeed with these counts of its target."""
    counts = {
        "rows_read": 1010,
        "rows_loaded": 1000,
        "rows_rejected": 10,
        "rows_filtered": 0,
        "rows_inserted": 1000,
        "rows_updated": 0,
        "rows_unchanged": 0,
        "duration_ms": 1234,
        **changes,
    }
    NodeRun.objects.create(workspace=run.workspace, run=run, position=1, node="load", kind="target", **counts)
    Run.objects.filter(pk=run.pk).update(state=State.SUCCEEDED, started_at=timezone.now(), ended_at=timezone.now())
    return run


def enter(run: Run, *steps: str) -> None:
    """Let the first attempt of a run be in the last of these steps."""
    timeline = Timeline([], 1)
    for step in steps:
        timeline.enter(step, "")
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(
        state=State.RUNNING, step=steps[-1], attempt=1, started_at=now, timeline=timeline.to_json()
    )


def test_without_runs_the_page_says_what_a_run_is(workspace, as_):
    answer = as_("viewer").get(RUNS)

    assert "No runs yet" in words(answer)
    assert 'aria-label="Runs"' not in answer.content.decode()
    assert "/w/alices-team/pipelines/" in answer.content.decode()


def test_what_the_database_says_of_a_failure_is_shown_without_passwords(as_, queued):
    detail = encrypt("no answer from postgresql://user:s3cret@host/database")
    Run.objects.filter(pk=queued.pk).update(
        state=State.FAILED, error_code="target.function_failed", error_detail=detail
    )
    text = words(as_("editor").get(at(queued)))

    assert "no answer from postgresql://" in text
    assert "s3cret" not in text


def test_each_node_reports_the_rows_that_it_rejected_itself(as_, queued):
    NodeRun.objects.create(
        workspace=queued.workspace,
        run=queued,
        position=0,
        node="check",
        kind="validate",
        rows_in=1010,
        rows_out=1003,
        rows_rejected_here=7,
    )
    load(queued, rows_in=1003, rows_out=1000, rows_rejected_here=3, rows_filtered=7)
    text = words(as_("viewer").get(at(queued)))

    assert "check validate 1,010 1,003 7 0" in text
    assert "load target 1,003 1,000 3 0" in text
    assert "rejected 10" in text


def test_a_node_that_unites_rows_reports_how_many_come_from_each_source(as_, queued):
    document = make_document()
    north, load = document["nodes"]
    shape = {"id": "shape", "kind": "transform", "inputs": ["north", "south"], "ops": [{"op": "union"}]}
    document["nodes"] = [north | {"id": "north"}, north | {"id": "south"}, shape, load | {"inputs": ["shape"]}]
    PipelineVersion.objects.filter(pk=queued.version_id).update(document=json.dumps(document))
    for position, (name, kind, rows) in enumerate(
        [("north", "source", 1200), ("south", "source", 34), ("shape", "transform", 1234)]
    ):
        counts = {"rows_in": rows, "rows_out": rows, "position": position}
        NodeRun.objects.create(workspace=queued.workspace, run=queued, node=name, kind=kind, **counts)
    text = words(as_("viewer").get(at(queued)))

    assert "1,200 rows from north 34 rows from south" in text


def test_each_node_reports_the_rows_that_it_excluded_itself(as_, queued):
    NodeRun.objects.create(
        workspace=queued.workspace,
        run=queued,
        position=0,
        node="shape",
        kind="transform",
        rows_in=1010,
        rows_out=1003,
        rows_filtered=7,
        rows_rejected_here=0,
    )
    load(queued, rows_in=1003, rows_out=1000, rows_rejected_here=0, rows_filtered=7, rows_replaced=2, rows_suppressed=1)
    text = words(as_("viewer").get(at(queued)))

    assert "shape transform 1,010 1,003 0 7" in text
    assert "load target 1,003 1,000 0 3" in text


def test_runs_are_listed_with_state_and_numbers(as_, queued):
    load(queued)
    text = words(as_("viewer").get(RUNS))

    assert "Succeeded Run 1 of numbers numbers browser" in text
    assert "1,000 10 rejected rows of run 1" in text


def test_a_run_without_numbers_is_listed_as_having_none(as_, queued):
    assert as_("viewer").get(RUNS).content.decode().count('aria-label="no number"') == 2


@pytest.mark.parametrize(("quarantined", "violated", "shown"), [(5, 7, "5"), (0, 0, "0"), (0, 7, "–")])
def test_a_run_that_failed_before_its_load_reports_what_it_rejected(as_, queued, quarantined, violated, shown):
    """If rules were violated and no row was stored, the number of rows is unknown."""
    RuleCount.objects.create(
        workspace=queued.workspace,
        run=queued,
        position=0,
        node="check",
        rule="r",
        type="notNull",
        field="id",
        on_fail="abort",
        violations=violated,
    )
    report = StoredReport(quarantine_entries=violated, quarantine_tables=("dlq.numbers",)).to_json()
    ended = {"state": State.FAILED, "ended_at": timezone.now()}
    Run.objects.filter(pk=queued.pk).update(quarantine_rows=quarantined, evaluated=True, report=report, **ended)
    store_sort_values(queued.pk)
    reported = f"{shown} rejected rows of run 1 v1" if quarantined else f"{shown} v1"
    assert f"– – {reported}" in words(as_("viewer").get(RUNS))
    assert re.search(rf"Failed ?\d+ s ago – {shown} ", words(as_("viewer").get("/w/alices-team/pipelines/")))
    assert f"– {shown}" in words(as_("viewer").get("/w/alices-team/pipelines/numbers/?tab=runs"))
    assert ("In quarantine 5 rows" in words(as_("viewer").get(at(queued)))) is bool(quarantined)


@pytest.mark.parametrize(("evaluated", "rejected"), [(True, "0"), (False, "–")])
def test_a_run_that_ended_before_rows_were_validated_has_no_number_and_not_none_rejected(
    as_, queued, evaluated, rejected
):
    ended = {"state": State.FAILED, "ended_at": timezone.now()}
    report = StoredReport().to_json()
    Run.objects.filter(pk=queued.pk).update(quarantine_rows=0, evaluated=evaluated, report=report, **ended)
    store_sort_values(queued.pk)
    client = as_("viewer")
    pages = [client.get(RUNS), *(client.get(f"/w/alices-team/pipelines/{of}") for of in ("", "numbers/?tab=runs"))]
    assert f"– – {rejected} v1" in words(pages[0])
    assert re.search(rf"Failed ?\d+ s ago – {rejected} ", words(pages[1]))
    assert f"– {rejected}" in words(pages[2])
    assert ("Rejected by the last run: 0" in words(pages[2])) is evaluated
    dashes = [page.content.decode().count('aria-label="no number"') for page in pages]
    assert dashes == ([1, 1, 1] if evaluated else [2, 2, 2])
    reported = "Nothing was loaded: the run failed before reading rows." in words(client.get(at(queued)))
    assert reported is not evaluated


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("pipeline=numbers", True),
        ("state=queued", True),
        ("state=failed", False),
        ("trigger=manual", True),
        ("trigger=api", False),
        ("since=2000-01-01T00:00", True),
        ("until=2000-01-01T00:00", False),
        ("pipeline=unknown", False),
        ("state=nonsense", False),
        ("since=yesterday", False),
    ],
)
def test_runs_are_filtered_and_a_filter_that_cannot_be_read_shows_none(as_, queued, query, found):
    answer = as_("viewer").get(f"{RUNS}?{query}")

    assert answer.status_code == 200
    assert (at(queued) in answer.content.decode()) is found


def test_pages_of_runs_follow_one_another_with_a_constant_number_of_queries(
    as_, pipeline, django_assert_max_num_queries
):
    runs = [queue_run(pipeline, Trigger.MANUAL, send=False) for _ in range(3)]
    Run.objects.bulk_create(
        Run(
            workspace=pipeline.workspace,
            pipeline=pipeline,
            version=runs[0].version,
            number=n,
            trigger="api",
            queued_at=runs[0].queued_at,
            due_at=runs[0].due_at,
        )
        for n in range(4, 121)
    )
    client, seen, address = as_("viewer"), [], RUNS
    while address:
        with django_assert_max_num_queries(10):
            page = client.get(address).content.decode()
        seen += re.findall(rf"{RUNS}([0-9a-f-]{{36}})/", page)
        older = re.search(r'href="\?(cursor=[^"]+)">Older', page)
        address = f"{RUNS}?{older[1]}" if older else ""

    assert len(seen) == len(set(seen)) == 120


def test_a_filter_by_htmx_returns_only_the_rows(as_, queued):
    answer = as_("viewer").get(RUNS, headers={"HX-Request": "true"})

    assert "<html" not in answer.content.decode()
    assert answer["Vary"].count("HX-Request") == 1


def test_the_run_reports_its_rows_as_an_equation(as_, queued):
    text = words(as_("viewer").get(at(load(queued))))

    assert "load: read 1,010 = loaded 1,000 + rejected 10 + filtered 0" in text
    assert "1,000 inserted, 0 updated, 0 unchanged" in text
    assert "do not add up" not in text


def test_a_run_without_anything_new_does_not_call_its_nodes_unfinished(as_, queued):
    Run.objects.filter(pk=load(queued).pk).update(nothing_new=True)
    text = words(as_("viewer").get(at(queued)))

    assert "nothing to do" in text
    assert "did not finish" not in text


def test_rows_that_were_made_of_records_are_part_of_the_balance(as_, queued):
    text = words(as_("viewer").get(at(load(queued, rows_read=10, rows_exploded=1000))))
    assert "read 10 + exploded 1,000 = loaded 1,000 + rejected 10" in text
    (node,) = run_document(queued)["nodes"]
    assert (node["rowsRead"], node["rowsExploded"]) == (10, 1000)


def test_the_node_that_explodes_shows_how_many_rows_it_added(as_, queued):
    counts = {"rows_in": 10, "rows_out": 1009, "rows_exploded": 1000, "rows_rejected_here": 1, "rows_filtered": 0}
    NodeRun.objects.create(
        workspace=queued.workspace, run=queued, position=0, node="lines", kind="transform", duration_ms=1, **counts
    )
    text = words(as_("viewer").get(at(load(queued, rows_read=10, rows_exploded=1000))))
    assert text.count("1,000 rows added by explode") == 1


def test_numbers_that_do_not_add_up_are_called_so(as_, queued):
    text = words(as_("viewer").get(at(load(queued, rows_loaded=999))))

    assert "read 1,010 ≠ loaded 999" in text
    assert "These numbers do not add up." in text


def test_rules_are_reported_with_zero_too(as_, queued):
    for place, violations in enumerate((0, 12)):
        RuleCount.objects.create(
            workspace=queued.workspace,
            run=queued,
            position=place,
            node="check",
            rule=f"r{place}",
            type="notNull",
            field="id",
            on_fail="skip",
            violations=violations,
        )
    text = words(as_("viewer").get(at(load(queued))))

    assert "r0 check notNull id reject row 0" in text
    assert "r1 check notNull id reject row 12" in text


def test_a_failed_run_reports_what_to_do_and_leads_to_its_node(as_, queued):
    Run.objects.filter(pk=queued.pk).update(
        state=State.FAILED,
        error_code="target.unreachable",
        error_node="load",
        error_message="Nothing answers.",
        error_hint="Start the server.",
        ended_at=timezone.now(),
    )
    page = as_("viewer").get(at(queued)).content.decode()

    assert all(text in page for text in ("Nothing answers.", "Start the server.", "target.unreachable"))
    assert "/w/alices-team/pipelines/numbers/?node=load" in page
    assert "Nothing was loaded." in page
    assert "The error is shown above." in page


def test_the_error_of_a_failed_run_appears_above_its_facts(as_, queued):
    Run.objects.filter(pk=queued.pk).update(
        state=State.FAILED, error_code="target.unreachable", error_message="Nothing answers.", ended_at=timezone.now()
    )
    page = as_("viewer").get(at(queued)).content.decode()

    assert page.index("Nothing answers.") < page.index('aria-label="Outcome"')


def test_the_page_polls_until_the_run_has_ended(as_, queued):
    enter(queued, "start", "pass")
    client, headers = as_("viewer"), {"HX-Request": "true"}
    running = client.get(at(queued), headers=headers)
    load(queued)
    ended = client.get(at(queued), headers=headers)

    assert 'hx-trigger="every 2s"' in running.content.decode()
    assert "Read, validate and stage rows (now)" in words(running)
    assert "Load (to come)" in words(running)
    assert "every 2s" not in ended.content.decode().split("health")[0]
    assert "Succeeded" in words(ended)


def test_a_step_that_this_page_does_not_know_is_shown_by_its_name(as_, queued):
    enter(queued, "vacuum")

    assert "Vacuum (now)" in words(as_("viewer").get(at(queued)))


def test_a_queued_run_reports_which_one_it_waits_for(as_, queued, pipeline):
    second = queue_run(pipeline, Trigger.MANUAL, send=False)

    assert "Waiting in the queue behind run 1" in words(as_("viewer").get(at(second)))


def log_lines(run: Run, n: int) -> None:
    RunLog.objects.bulk_create(
        RunLog(workspace=run.workspace, run=run, attempt=1, at=timezone.now(), level="info", message=f"line {i} end")
        for i in range(n)
    )


def numbers_of(page) -> list[int]:
    return [int(number) for number in re.findall(r"line (\d+) end", words(page))]


def test_the_newest_lines_of_a_long_log_are_shown_and_older_ones_on_demand(as_, queued):
    log_lines(queued, 450)
    client = as_("viewer")
    first = client.get(at(queued))
    (older,) = set(re.findall(r'href="([^"]*/log/\?cursor=[^"]*)"', first.content.decode()))
    more = client.get(older, headers={"HX-Request": "true"})

    assert numbers_of(first) == list(range(250, 450))
    assert numbers_of(more) == list(range(50, 250))


@pytest.mark.parametrize(("sort", "wanted"), [("time", range(249, 49, -1)), ("-time", range(200))])
def test_a_page_of_the_log_begins_with_its_newest_or_oldest_lines(as_, queued, sort, wanted):
    log_lines(queued, 250)
    assert numbers_of(as_("viewer").get(f"{at(queued)}log/", {"sort": sort})) == list(wanted)


def test_the_log_is_downloaded_as_text_with_one_entry_per_line(as_, queued):
    log_lines(queued, 2)
    RunLog.objects.filter(message="line 1 end").update(message="two\nlines", node="load", level="error")
    RunLog.objects.update(at="2026-01-31T12:00:00Z")
    answer = as_("viewer").get(f"{at(queued)}log.txt")

    assert answer.headers["Content-Disposition"] == f'attachment; filename="{queued.pipeline.slug}-{queued.number}.log"'
    assert answer.content.decode().splitlines() == [
        "2026-01-31T12:00:00.000000Z info - line 0 end",
        "2026-01-31T12:00:00.000000Z error load two",
        "    lines",
    ]


def test_a_run_costs_a_constant_number_of_queries(as_, queued, django_assert_max_num_queries):
    for n in range(50):
        NodeRun.objects.create(
            workspace=queued.workspace, run=queued, position=n, node=f"n{n}", kind="transform", duration_ms=n
        )
    client = as_("viewer")

    with django_assert_max_num_queries(14):
        assert client.get(at(queued)).status_code == 200


def test_an_editor_starts_a_run(as_, pipeline, sent, django_capture_on_commit_callbacks):
    client = as_("editor")
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(f"{RUNS}start/numbers/")

    run = Run.objects.get()
    assert answer["Location"] == at(run)
    assert (run.trigger, run.requested_by.email) == ("manual", "editor@example.com")
    assert sent == [str(run.pk)]


def test_an_editor_cancels_a_run(as_, queued):
    client = as_("editor")

    assert client.post(f"{at(queued)}cancel/")["Location"] == at(queued)
    queued.refresh_from_db()
    assert queued.state == State.CANCELLED


def test_cancelling_what_has_ended_says_so(as_, queued):
    answer = as_("editor").post(f"{at(load(queued))}cancel/")

    assert answer.status_code == 409
    assert "There is nothing to cancel." in words(answer)


@pytest.mark.parametrize("address", ["start/numbers/", "{run}/cancel/"])
def test_a_viewer_neither_starts_nor_cancels(as_, queued, address):
    client = as_("viewer")

    assert client.post(RUNS + address.format(run=queued.pk)).status_code == 403
    assert Run.objects.get().state == State.QUEUED
    assert "Cancel run" not in words(client.get(at(queued)))


@pytest.mark.parametrize("address", ["{run}/", "{run}/cancel/"])
def test_a_run_of_another_workspace_is_not_there(as_, queued, address):
    """The request names a workspace of the other user."""
    client, mine = as_("stranger"), RUNS.replace("alices-team", "bobs-team")

    ask = client.post if address.endswith("cancel/") else client.get
    assert ask(mine + address.format(run=queued.pk)).status_code == 404
    assert str(queued.pk) not in client.get(mine).content.decode()


def test_texts_of_a_run_do_no_harm(as_, queued):
    RunLog.objects.create(
        workspace=queued.workspace, run=queued, attempt=1, at=timezone.now(), level="info", message=HOSTILE
    )
    RuleCount.objects.create(
        workspace=queued.workspace,
        run=queued,
        position=0,
        node="check",
        rule=HOSTILE,
        type="notNull",
        field=HOSTILE,
        on_fail="skip",
        violations=1,
    )
    Run.objects.filter(pk=queued.pk).update(
        state=State.FAILED,
        error_code="x",
        error_node=HOSTILE[:60],
        error_message=HOSTILE,
        error_hint=HOSTILE,
        report=StoredReport(
            warnings=(RunWarning("x", HOSTILE, HOSTILE),),
            checks=(CheckReport("n", HOSTILE, ok=False, message=HOSTILE, observed=HOSTILE),),
        ).to_json(),
    )
    assert_harmless(as_("viewer").get(at(queued)))


def test_runs_are_filtered_by_the_name_of_their_pipeline(as_, pipeline, queued):
    Pipeline.objects.filter(pk=pipeline.pk).update(name="Daily orders")
    assert at(queued) in as_("viewer").get(f"{RUNS}?pipeline=daily+orders").content.decode()


def test_an_unknown_pipeline_is_named_beside_the_empty_list(as_, queued):
    assert "No pipeline has the id or name 'Weekly' here" in words(as_("viewer").get(f"{RUNS}?pipeline=Weekly"))


def test_a_name_that_several_pipelines_have_is_answered_with_their_ids(as_, save, queued):
    save(id="other")
    Pipeline.objects.update(name="Daily orders")
    assert "Several pipelines are named 'Daily orders': numbers, other." in words(
        as_("viewer").get(f"{RUNS}?pipeline=Daily+orders")
    )


def test_runs_of_another_workspace_are_not_cancelled(as_, queued):
    other = ensure_workspace("bobs-team")
    theirs = Pipeline.objects.create(workspace=other, slug="theirs")
    foreign = Run.objects.create(
        workspace=other, pipeline=theirs, number=1, trigger="api", queued_at=timezone.now(), due_at=timezone.now()
    )
    client, address = as_("editor"), "/w/alices-team/runs/cancel/"
    alone = client.post(address, {"run": [foreign.pk]})
    among = words(client.post(address, {"run": [foreign.pk, queued.pk]}, follow=True))

    assert (alone.status_code, "The selected runs are not here." in words(alone)) == (404, True)
    assert "1 run being cancelled." in among
    assert "1 selected run is not here." in among
    foreign.refresh_from_db()
    assert not foreign.cancel_requested


def test_nodes_that_only_joins_read_have_no_counts_and_are_called_references(as_, queued):
    ended = {"state": State.SUCCEEDED, "ended_at": timezone.now()}
    Run.objects.filter(pk=queued.pk).update(draft_document=json.dumps(JOIN), **ended)
    assert "customers source reference of a join" in words(as_("viewer").get(at(queued)))


def test_a_preview_whose_version_was_not_moved_here_has_none(as_, queued):
    Run.objects.filter(pk=queued.pk).update(kind="preview", version=None)
    page = words(as_("viewer").get(at(queued)))
    assert "Requested" in page
    assert "Version , requested" not in page


def test_a_node_is_listed_after_those_that_it_reads_from(as_, queued):
    ended = {"state": State.SUCCEEDED, "ended_at": timezone.now()}
    backwards = {**JOIN, "nodes": JOIN["nodes"][::-1]}
    Run.objects.filter(pk=queued.pk).update(draft_document=json.dumps(backwards), **ended)
    table = words(as_("viewer").get(at(queued))).partition("Nodes Node Kind")[2]
    places = [table.index(f" {node['id']} {node['kind']} ") for node in JOIN["nodes"][-2:]]
    assert places == sorted(places)


def test_the_page_shows_what_joins_matched_and_what_they_looked_in(as_, queued):
    read = {"name": "customers/customers.csv", "identity": "ab12" * 16, "rows": 800}
    join = {"reference": "customers", "type": "left", "matched": 1204, "unmatched": 17, "read": read}
    NodeRun.objects.create(
        workspace=queued.workspace, run=queued, position=0, node="names", kind="transform", joins=[join]
    )
    text = " ".join(as_("viewer").get(f"/w/alices-team/runs/{queued.pk}/").content.decode().split())
    assert "left join with customers: 1,204 matched, 17 unmatched" in text
    assert "customers/customers.csv, 800 rows" in text
    assert "SHA-256 ab12ab12" in text
    document = as_("viewer").get(f"/api/runs/{queued.pk}/", headers={"X-Flow-Workspace": "alices-team"}).json()
    assert document["nodes"][0]["joins"] == [join]
