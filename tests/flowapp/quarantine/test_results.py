"""The result of each row of a replay: on its page and by API."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from executors.load_record import RunRef
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.replay_results import write_results
from executors.rejected_rows import RowResult
from flowapp.quarantine.choosing import choose_alike
from flowapp.quarantine.replaying import ask_for_runs
from flowapp.quarantine.selectors import EntryFilter
from flowapp.quarantine.templatetags.row_results import became
from flowapp.runs.holds import Decider
from flowapp.runs.models import RuleCount, Run, RunKind, Trigger
from flowapp.runs.stored_report import StoredReport
from tests.flowapp.quarantine.keeping import keep
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
RUNS = "/w/alices-team/runs/"
HERE = {"X-Flow-Workspace": "alices-team"}
MADE_UP = "r-0123456789ab"


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


@pytest.fixture
def replayed(alices, orders, warehouse, table):
    """Makes a replay that has ended; each result is that of the row of its number."""

    def call(*results: str, listed: bool = True) -> Run:
        run = keep(warehouse, orders, table, "r1", n=len(results), row={"tailnum": "SECRET-VALUE"})
        chosen = choose_alike(alices, EntryFilter(pipeline=orders), Decider("ann"))
        (replay,) = ask_for_runs(RunKind.REPLAY, chosen, Trigger.MANUAL, Decider("ann"), send=False)
        report = StoredReport(row_results=Counter(results)).to_json()
        Run.objects.filter(pk=replay.pk).update(state="succeeded", report=report, ended_at=timezone.now(), attempt=1)
        RuleCount.objects.create(
            workspace=alices,
            run=replay,
            position=0,
            node="check",
            rule=MADE_UP,
            type="email",
            field="contact",
            on_fail="skip",
            violations=1,
        )
        with connect(warehouse, autocommit=True) as conn:
            ensure_meta(conn)
            ref = RunRef(str(replay.pk), str(alices.pk), orders.slug, replay.row_job.node, 1, 1)
            rules = {"fails": [MADE_UP]}
            rows = [
                RowResult(n, run, f"r1-{n}", "a.csv", n, result, rules.get(result, ()))
                for n, result in enumerate(results)
            ]
            with conn.transaction():
                write_results(conn, ref, rows if listed else [])
        return replay

    return call


def test_each_row_is_reported_with_its_rule_and_a_link_and_no_value(as_, replayed):
    replay = replayed("loaded", "fails", "exists", "filtered")
    for role in ("viewer", "editor"):
        answer = as_(role).get(f"{RUNS}{replay.pk}/")
        text, page = words(answer), answer.content.decode()
        assert "a.csv record 1 rejected again by a rule email on contact open" in text
        assert "a.csv record 2 not loaded: the table has this key with other values open" in text
        assert "a.csv record 3 filtered out open a.csv record 0 loaded open" in text
        assert "/r1-1/" in page
        assert "SECRET-VALUE" not in page


def test_the_list_is_filtered_by_result_and_paged(as_, replayed):
    replay = replayed(*["loaded"] * 60, "fails")
    client = as_("viewer")
    first = client.get(f"{RUNS}{replay.pk}/")
    assert first.content.decode().count("a.csv record ") == 50
    (cursor,) = {row.listed.position for row in first.context["row_results"].rows[-1:]}
    second = client.get(f"{RUNS}{replay.pk}/?cursor={cursor}")
    assert second.content.decode().count("a.csv record ") == 11
    assert "Next rows" not in words(second)
    assert "a.csv record 60" in (only := words(client.get(f"{RUNS}{replay.pk}/?result=fails")))
    assert only.count("a.csv record ") == 1


def test_what_a_replay_rejected_leads_to_these_rows_and_to_no_others(as_, replayed):
    replay, client = replayed("loaded", "loaded", "fails"), as_("viewer")
    url = f"/w/alices-team/errors/rows/?run={replay.pk}"
    assert client.get(url)["Location"] == f"{RUNS}{replay.pk}/?result=fails#one-by-one"
    # Several results count as rejected: the page shows the result of each row.
    mixed = replayed("loaded", "fails", "exists")
    answer = client.get(f"/w/alices-team/errors/rows/?run={mixed.pk}")
    assert answer["Location"] == f"{RUNS}{mixed.pk}/#one-by-one"
    # Rows that violate a rule have no list of their own: each row shows its rule.
    assert "&amp;rule=" not in client.get(f"{RUNS}{replay.pk}/").content.decode()


def test_missing_results_of_rows_are_reported(as_, replayed):
    text = words(as_("viewer").get(f"{RUNS}{replayed('loaded', 'fails', listed=False).pk}/"))
    assert "The outcome of each row is no longer stored" in text
    assert "1 loaded" in text


def test_the_numbers_are_reported_while_the_warehouse_is_down(as_, replayed, alices):
    replay = replayed("loaded", "fails")
    alices.connections.update(port=1)
    answer = as_("viewer").get(f"{RUNS}{replay.pk}/")
    assert answer.status_code == 200
    assert "The rows cannot be shown now" in words(answer)
    assert "1 rejected again by a rule" in words(answer)


def test_programs_get_the_same_page_by_page(as_, replayed, orders):
    replay = replayed("loaded", "fails", "loaded")
    client = as_("viewer")
    listed = client.get(f"/api/runs/{replay.pk}/rows/?limit=2", headers=HERE).json()
    assert listed["counts"] == listed["listed"] == {"loaded": 2, "fails": 1}
    assert listed["results"][0] == {
        "key": listed["results"][0]["key"],
        "id": 1,
        "sourceFile": "a.csv",
        "sourceRecord": 1,
        "result": "fails",
        "rules": [MADE_UP],
        "status": "open",
    }
    rest = client.get(listed["next"], headers=HERE).json()
    assert [row["id"] for row in rest["results"]] == [2]
    assert rest["next"] is None
    refused = client.get(f"/api/runs/{replay.pk}/rows/?result=nonsense", headers=HERE)
    assert (refused.status_code, refused.json()["code"]) == (422, "errors.result_unknown")
    load = Run.objects.filter(pipeline=orders).exclude(pk=replay.pk)[0]
    assert client.get(f"/api/runs/{load.pk}/rows/", headers=HERE).json()["code"] == "run.no_replay"


def test_pages_describe_results_of_checks_and_of_other_releases():
    assert [became("loaded", previews) for previews in (False, True)] == ["loaded", "would be loaded"]
    assert became("of a release to come", True) == became("not_replayable", False)
