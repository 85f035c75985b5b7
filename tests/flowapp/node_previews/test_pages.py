"""The panel below the canvas: a preview, and the messages without one."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from flowapp.node_previews import executing
from flowapp.pipelines.drafts import open_draft, patch_draft
from tests.flowapp.node_previews.conftest import shown
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db(transaction=True)
START = "/w/alices-team/node-previews/numbers/"


def start(client, node="check", **more):
    return client.post(START, {"node": node, **more}, headers={"HX-Request": "true"})


def look(client, asked, query=""):
    """Send the next request of the panel."""
    path = re.search('hx-get="([^"]+)"', asked.content.decode())[1]
    return client.get(path + query, headers={"HX-Request": "true"})


def test_rows_are_shown_with_their_results_and_shares(checked, as_, work):
    client = as_("editor")
    asked = start(client)
    work()
    page = words(look(client, asked))
    assert "All rows of in/a.csv. 2 rows in, 1 out, 1 rejected." in page
    assert "notNull on id: 1 of 2 rejected." in page
    assert "id integer 50% NULL · 1 distinct" in page
    assert "Rejected id is empty" in page


def test_the_form_gets_a_count_for_each_rule(checked, as_, work):
    client = as_("editor")
    asked = start(client)
    work()
    page = look(client, asked).content.decode()
    assert '<li data-violations="1">Would reject 1 of 2 sampled rows.</li>' in page
    assert 'data-node="check" data-extent="All rows of in/a.csv."' in page
    asked = start(client, node="files")
    work()
    assert "<li data-violations" not in look(client, asked).content.decode()


def test_counts_of_exploded_records_name_their_unit(checked, as_, work, monkeypatch):
    def exploded(job, cancellation):
        rules = tuple(replace(rule, violations=1, evaluated=4) for rule in shown(job).rules)
        units = {"unit_in": "record", "unit_rejected": "record"}
        return replace(shown(job), rows_in=4, rows_out=8, rows_rejected=1, rules=rules, **units)

    monkeypatch.setattr(executing, "preview_node", exploded)
    client = as_("editor")
    asked = start(client)
    work()
    answer = look(client, asked)
    page = words(answer)
    assert "4 records in, 8 rows out, 1 record rejected." in page
    assert "notNull on id: 1 of 4 records rejected." in page
    assert "Would reject 1 of 4 sampled records." in answer.content.decode()


def test_a_value_that_is_cut_off_is_marked(checked, as_, work, monkeypatch):
    cut = "x" * 500 + "…"
    monkeypatch.setattr(executing, "preview_node", lambda job, cancellation: shown(job, name=cut))
    asked = start(as_("editor"))
    work()
    page = look(as_("editor"), asked).content.decode()
    assert page.count("data-cell data-cut") == 2


def test_a_value_that_no_form_can_send_is_marked(checked, as_, work, monkeypatch):
    monkeypatch.setattr(executing, "preview_node", lambda job, cancellation: shown(job, name="one\r\ntwo"))
    asked = start(as_("editor"))
    work()
    assert look(as_("editor"), asked).content.decode().count("data-cell data-returns") == 2


def test_an_unforeseen_error_names_no_values(checked, as_, work, monkeypatch, caplog):
    def crash(job, cancellation):
        values = {"error": "secret value"}
        raise ValueError(values["error"])

    monkeypatch.setattr(executing, "preview_node", crash)
    asked = start(as_("editor"))
    work()
    page = words(look(as_("editor"), asked))
    assert "Unexpected error: ValueError." in page
    assert "secret value" not in page + caplog.text
    assert "in crash" in caplog.text


def test_values_are_escaped(checked, as_, work, monkeypatch):
    monkeypatch.setattr(executing, "preview_node", lambda job, cancellation: shown(job, name=HOSTILE))
    client = as_("editor")
    asked = start(client, node="files")
    work()
    assert_harmless(look(client, asked))
    assert_harmless(look(client, asked, "?side=before"))


def test_it_asks_again_until_it_has_ended(checked, as_, work):
    client = as_("editor")
    asked = start(client)
    waiting = look(client, asked)
    assert "No worker is running" in words(waiting)
    assert "load delay" in waiting.content.decode()
    work()
    assert "load delay" not in look(client, waiting).content.decode()


def test_a_cancelled_preview_says_so_and_asks_no_more(checked, as_, redis_url):
    client = as_("editor")
    path = re.search('data-cancel="([^"]+)"', start(client).content.decode())[1]
    answer = client.post(path, headers={"HX-Request": "true"})
    assert "The preview was cancelled. Refresh reads the rows again." in words(answer)
    assert "load delay" not in answer.content.decode()
    assert as_("viewer").post(path).status_code == 403


def test_the_panel_shows_why_there_is_no_preview(checked, as_, person, redis_url):
    patch_draft(open_draft(checked, person("editor")), [{"op": "replace", "path": "/nodes/1/inputs", "value": []}])
    assert "check reads from no source yet. Connect it" in words(start(as_("editor")))


def test_viewers_see_no_rows(checked, as_):
    assert start(as_("viewer")).status_code == 403
    assert "node-preview" not in as_("viewer").get("/w/alices-team/pipelines/numbers/").content.decode()
    assert 'id="node-preview"' in as_("editor").get("/w/alices-team/pipelines/numbers/").content.decode()


def test_an_edit_changes_the_draft_and_notifies_the_editor(checked, as_, person):
    data = {"node": "check", "column": "id", "type": "integer", "action": "rename", "rename_value": "number"}
    answer = as_("editor").post(f"{START}edit/", data, headers={"HX-Request": "true"})
    assert json.loads(answer.headers["HX-Trigger"])["flow:draft-changed"]["origin"] == "preview"
    assert '"rename"' in open_draft(checked, person("editor")).text
    assert as_("viewer").post(f"{START}edit/", data).status_code == 403


@pytest.mark.parametrize("node", ["files", "check", "load"])
def test_an_added_rule_is_opened_in_its_form(checked, as_, node):
    data = {"node": node, "column": "id", "type": "integer", "action": "add_rule", "add_rule_value": "notNull"}
    answer = as_("editor").post(f"{START}edit/", data, headers={"HX-Request": "true"})
    opened = json.loads(answer.headers["HX-Trigger"])["flow:open-form"]
    assert opened == (
        {"id": "check_2", "at": "/nodes/3/rowLevel/0"}
        if node == "load"
        else {"id": "check", "at": "/nodes/1/rowLevel/1"}
    )
