"""Page, API and command line of "Where did my row go?"."""

from __future__ import annotations

import pytest

from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import RuleCount
from tests.flowapp.cli.conftest import flow
from tests.flowapp.quarantine.keeping import keep
from tests.flowapp.reading import HOSTILE, assert_harmless, words

__all__ = ["flow"]
pytestmark = pytest.mark.django_db
TRACE = "/w/alices-team/trace/"
API = "/api/pipelines/numbers/trace/"
HERE = {"X-Flow-Workspace": "alices-team"}


def test_the_page_leads_from_a_key_to_run_and_record(checked, run, table, as_):
    table((1, "Ann", 5))
    client = as_("editor")
    assert client.get(f"{TRACE}?pipeline=numbers")["Location"] == f"{TRACE}numbers/"
    assert 'value="id"' in client.get(f"{TRACE}numbers/").content.decode()
    page = client.post(f"{TRACE}numbers/", {"column_0": "id", "value_0": "1"})
    assert f"run {run.number} of numbers" in words(page)
    assert "record 5" in words(page)
    assert page["Cache-Control"].startswith("max-age=0")


def test_the_page_offers_pipelines_with_a_version_only(checked, as_):
    Pipeline.objects.create(workspace=checked.workspace, slug="unsaved", name="Unsaved")
    page = as_("editor").get(TRACE).content.decode()
    assert '<option value="numbers">' in page
    assert "unsaved" not in page


def test_the_page_is_reached_from_the_pipeline_and_from_its_errors(checked, run, as_):
    asked = f"{TRACE}numbers/"
    pages = [f"pipelines/numbers/?tab={tab}" for tab in ("visual", "runs", "errors")]
    pages += ["errors/?pipeline=numbers", "errors/rows/?pipeline=numbers", f"errors/rows/?run={run.pk}"]
    for page in (f"/w/alices-team/{page}" for page in pages):
        assert f'href="{asked}"' in as_("editor").get(page).content.decode(), page
        assert TRACE not in as_("viewer").get(page).content.decode(), page
    assert f'href="{TRACE}"' in as_("editor").get("/w/alices-team/errors/").content.decode()
    assert 'value="id"' in as_("editor").get(asked).content.decode()


def test_the_page_shows_a_rejection_with_the_way_to_the_row(checked, run, table, warehouse, schema, as_):
    table()
    keep(warehouse, checked, f"{schema}.rejects", "named", run, row={"no": "7", "name": HOSTILE})
    page = as_("editor").post(f"{TRACE}numbers/", {"column_0": "id", "value_0": "7"})
    assert "Rejected at check" in words(page)
    assert f"/errors/rows/{run.pk}/" in page.content.decode()
    assert_harmless(page)


def test_a_rule_without_an_id_is_reported_by_type_and_field(
    checked, run, table, warehouse, schema, as_, flow, settings
):
    settings.FLOW_WORKSPACE = "alices-team"
    table()
    made_up = "r-0123456789ab"
    keep(warehouse, checked, f"{schema}.rejects", made_up, run, row={"no": "7"}, field="contact")
    RuleCount.objects.create(
        workspace=run.workspace,
        run=run,
        position=0,
        node="check",
        rule=made_up,
        type="email",
        field="contact",
        on_fail="skip",
        violations=1,
    )
    assert "(email on contact)" in words(as_("editor").post(f"{TRACE}numbers/", {"column_0": "id", "value_0": "7"}))
    for command in (("trace", "numbers", "id=7"), ("errors", "list"), ("runs", "show", str(run.pk))):
        reported = flow(*command).stdout
        assert "email on contact" in reported
        assert made_up not in reported
    row = flow("errors", "show", f"{run.pk}:{made_up}-0").stdout
    assert "email on contact" in row
    assert made_up in row, "what --rule takes"
    editor = as_("editor").get("/w/alices-team/pipelines/numbers/?tab=errors")
    assert "email on contact" in words(editor)


def test_a_row_that_is_nowhere_is_said_to_be_so(checked, table, as_):
    table()
    page = as_("editor").post(f"{TRACE}numbers/", {"column_0": "id", "value_0": "7"})
    assert "The row was not found." in words(page)
    assert as_("editor").post(f"{TRACE}numbers/", {"column_0": "id"}).status_code == 422


def test_who_sees_no_values_cannot_look_for_any(checked, table, as_):
    table((1, "Ann", 5))
    client = as_("viewer")
    assert client.get(f"{TRACE}numbers/").status_code == 403
    assert client.post(f"{TRACE}numbers/", {"column_0": "id", "value_0": "1"}).status_code == 403
    assert client.post(API, {"key": {"id": "1"}}, content_type="application/json", headers=HERE).status_code == 403


def test_the_api_returns_the_same(checked, run, table, as_):
    table((1, "Ann", 5))
    answer = as_("editor").post(API, {"key": {"id": "1"}}, content_type="application/json", headers=HERE)
    (target,) = answer.json()["targets"]
    assert (target["found"], target["locations"][0]["rows"][0]["runNumber"]) == (True, run.number)
    wrong = as_("editor").post(API, {"key": {}}, content_type="application/json", headers=HERE)
    assert wrong.json()["code"] == "trace.key_required"


def test_the_command_line_says_where(checked, run, table, flow, settings):
    settings.FLOW_WORKSPACE = "alices-team"
    table((1, "Ann", 5))
    shown = flow("trace", "numbers", "id=1")
    assert (shown.status, f"run {run.name}; record 5" in shown.stdout) == (0, True)
    assert flow("trace", "numbers", "id=2", "--json").status == 1
    assert flow("trace", "numbers", "id").status == 64
