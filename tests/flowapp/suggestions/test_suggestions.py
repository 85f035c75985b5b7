"""Proposals from a stored sample, added to the draft one by one, and rules tested on samples."""

from __future__ import annotations

import html
import json
import re

import pytest

from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.checking import read_value
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.drafts import base_text, open_draft, patch_draft, replace_text, view_draft
from flowapp.pipelines.services import create_pipeline
from flowapp.runs.models import Run
from flowapp.suggestions.selectors import list_proposals, list_samples, node_of, read_rule, rules_of, target_of
from flowapp.suggestions.services import accept, take_sample
from flowapp.suggestions.wording import asks
from ir.errors import FlowError
from ir.json_edits import PatchRefused
from tests.flowapp.cli.conftest import flow
from tests.flowapp.conftest import make_document
from tests.flowapp.delta_documents import rejecting_nodes
from tests.flowapp.reading import HOSTILE, assert_harmless, words
from tests.flowapp.suggestions.conftest import ROWS

__all__ = ["flow"]
pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/w/alices-team/suggestions/numbers/check/"
API = "/api/pipelines/numbers/"
HERE = {"X-Flow-Workspace": "alices-team"}


def proposals(pipeline):
    view = view_draft(open_draft(pipeline, None))
    found = list_proposals(list_samples(pipeline, target_of(view, "check")), node_of(view, "check"))
    return {(p.check or p.spec["type"], p.field): p for p in found}


def node(pipeline, user=None):
    return json.loads(open_draft(pipeline, user).text)["nodes"][1]


def test_a_sample_suggests_rules_that_the_node_lacks(checked, sampled):
    sampled()
    found = proposals(checked)
    assert {("notNull", "id"), ("range", "id"), ("regex", "name"), ("oneOf", "colour"), ("duplicateKey", "id")} <= set(
        found
    )
    assert ("notNull", "colour") not in found


def test_a_sample_before_a_delta_table_is_stored_beside_its_rejected_rows(checked, person):
    for name in ("audit", "other"):
        add_connection(checked.workspace, name, ConnectionFields("postgres", "db.example", 5432, name, "etl", "s3cret"))
    add_connection(checked.workspace, "lake", StoreFields("folder", {"path": "sales"}))
    nodes = rejecting_nodes({"table": "dlq.numbers", "connection": "audit"})
    draft = replace_text(open_draft(checked, person("editor")), json.dumps(make_document(nodes=nodes)))
    assert target_of(view_draft(draft), "check").connection == "audit"


def test_the_page_names_the_columns_that_a_sample_leaves_out(as_, checked, person, sampled):
    editor = person("editor")
    window = {"op": "window", "orderBy": [{"column": "id"}], "columns": [{"as": "place", "function": "rowNumber"}]}
    shape = {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": [window]}
    draft = patch_draft(
        open_draft(checked, editor),
        [
            {"op": "add", "path": "/nodes/-", "value": shape},
            {"op": "replace", "path": "/nodes/1/inputs", "value": ["shape"]},
        ],
    )
    assert not view_draft(draft).checked.errors
    sampled()
    assert "The sample leaves out place, because other rows determine the values" in words(as_("editor").get(PAGE))


def test_proposals_come_in_the_order_of_the_columns(checked, sampled):
    sampled([{"order_id": f"{n:04}", "note": "x", "id": n} for n in range(40)])
    fields = [field for kind, field in proposals(checked) if kind == "notNull"]
    assert fields == ["order_id", "note", "id"]


def test_a_sample_of_few_rows_says_how_many_are_needed(as_, sampled):
    sampled(ROWS[:5])
    assert "5 rows are too few to propose rules: 20 are needed." in words(as_("editor").get(PAGE))


def test_an_accepted_rule_is_in_the_draft_and_no_longer_proposed(checked, sampled, person):
    sampled()
    editor = person("editor")
    draft = accept(open_draft(checked, editor), "check", proposals(checked)["oneOf", "colour"].spec)
    assert [rule["type"] for rule in node(checked, editor)["rowLevel"]] == ["notNull", "oneOf"]
    assert not view_draft(draft).checked.errors
    view = view_draft(draft)
    left = list_proposals(list_samples(checked, target_of(view, "check")), node_of(view, "check"))
    assert ("oneOf", "colour") not in {(p.spec.get("type"), p.field) for p in left}


def test_checks_join_those_that_are_there(checked, person):
    editor = person("editor")
    for column in ("id", "name", "colour"):
        accept(open_draft(checked, editor), "check", {"columns": [column], "onFail": "warn"}, "duplicateKey")
    assert [c["columns"] for c in node(checked, editor)["datasetLevel"]["duplicateKey"]] == [
        ["id"],
        ["name"],
        ["colour"],
    ]


@pytest.mark.parametrize(
    ("spec", "check", "code"),
    [
        ({"type": "nonsense"}, "", "rule.type_unknown"),
        ({"columns": ["id"]}, "customSql", "rule.type_unknown"),
        ({"type": "regex", "field": "id"}, "", "rule.invalid"),
        ("text", "", "rule.type_unknown"),
    ],
)
def test_what_is_no_rule_is_not_accepted(checked, person, spec, check, code):
    with pytest.raises(FlowError) as refused:
        accept(open_draft(checked, person("editor")), "check", spec, check)
    assert refused.value.code == code


def test_one_sample_is_taken_at_a_time(checked):
    from flowapp.runs.models import Trigger

    assert take_sample(checked, Trigger.MANUAL) == take_sample(checked, Trigger.MANUAL)


def test_the_page_shows_evidence_takes_a_rule_and_tries_those_that_are_there(checked, sampled, as_):
    sampled([*ROWS, {"id": 99, "name": HOSTILE, "colour": None}])
    client = as_("editor")
    page = client.get(PAGE)
    assert "41 values lie between 0 and 99" in words(page)
    assert "would have failed 1 of 41" in words(page)
    assert_harmless(page)
    taken = client.post(f"{PAGE}accept/", {"spec": '{"type": "notNull", "field": "id", "onFail": "warn"}'}, follow=True)
    assert "Added to your draft of numbers." in words(taken)


def test_a_rule_is_never_added_to_a_node_that_moved_to_the_position(checked, person):
    """Another tab removes the source between reading and editing the draft, so that all positions change."""
    stale, current = (open_draft(checked, person("editor")) for _ in range(2))
    other = {"id": "other", "kind": "validate", "inputs": ["files"], "rowLevel": []}
    patch_draft(current, [{"op": "add", "path": "/nodes/1", "value": other}])
    with pytest.raises(PatchRefused):
        accept(stale, "check", {"type": "notNull", "field": "id", "onFail": "skip"})
    assert read_value(open_draft(checked, person("editor")).text)["nodes"][1] == other


def test_several_proposals_are_added_at_once(checked, sampled, as_, person):
    sampled()
    client = as_("editor")
    offered = re.findall('name="offered" value="([^"]+)"', client.get(PAGE).content.decode())
    data = {"offered": [html.unescape(offer) for offer in offered], "proposal": ["0", "1"]}
    assert "Added 2 to your draft of numbers." in words(client.post(f"{PAGE}accept-selected/", data, follow=True))
    assert len(node(checked, person("editor"))["rowLevel"]) == 3
    assert "Nothing is selected." in words(client.post(f"{PAGE}accept-selected/", {"offered": "[]"}, follow=True))
    before = open_draft(checked, person("editor")).text
    data = {"offered": [html.unescape(offered[0]), '[{"type": "no such rule"}, ""]'], "proposal": ["0", "1"]}
    assert client.post(f"{PAGE}accept-selected/", data).status_code == 422
    assert open_draft(checked, person("editor")).text == before, "none of the proposals was added"


def test_a_proposal_is_reported_in_words_and_its_json_is_folded_away(checked, sampled, as_):
    sampled()
    page = as_("editor").get(PAGE)
    assert "range id min 0, max 100JSON of range on id" in words(page)
    assert "<details><summary" in page.content.decode()


def test_accepting_a_rule_with_values_says_who_can_read_them(checked, sampled, as_):
    sampled()
    page = words(as_("editor").get(PAGE))
    assert re.search(
        "Add rule oneOf on colour ?These values become part of the pipeline, which all viewers can read", page
    )
    assert page.count("These values become part") == 1


def test_a_rule_that_cannot_be_tried_says_why_and_what_can(checked, sampled, flow, settings):
    settings.FLOW_WORKSPACE = "alices-team"
    sampled()
    rule = '{"type": "expression", "expression": "id > 1"}'
    reported = flow("rules", "try", "numbers", "check", "--rule", rule).stdout
    assert "Run a preview of the saved pipeline to count its violations" in reported


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "notNull", "field": "a", "onFail": "skip"}, ""),
        ({"type": "range", "field": "a", "min": 1, "max": 2.5, "maxViolations": 3}, "min 1, max 2.5, max violations 3"),
        ({"type": "oneOf", "field": "a", "values": ["red", 1, ""]}, 'values red · 1 · ""'),
        ({"type": "jsonSchema", "field": "a", "schema": {"type": "object"}}, 'schema {"type": "object"}'),
    ],
)
def test_what_a_rule_asks_is_reported_in_words(spec, expected):
    assert asks(spec) == expected


def test_without_a_sample_the_page_says_what_one_is(checked, as_):
    assert "No samples yet" in words(as_("editor").get(PAGE))


def test_the_watching_page_opens_its_button_again(checked, as_):
    page = as_("editor").get(PAGE, headers={"HX-Request": "true"}).content.decode()
    assert '<button class="btn btn-primary" type="submit" id="take-sample" hx-swap-oob="true">' in page


def test_a_sample_that_is_under_way_is_watched_and_one_that_failed_reported(checked, as_):
    client = as_("editor")
    page = client.post(f"{PAGE}sample/", follow=True)
    assert "reads a sample of the source" in words(page)
    assert 'hx-trigger="every 2s"' in page.content.decode()
    from flowapp.runs.models import Run

    Run.objects.update(state="failed", error_message="No file matches.")
    assert "No file matches." in words(client.get(PAGE))
    assert client.get(f"/w/alices-team/runs/{Run.objects.get().pk}/").status_code == 200


def test_who_sees_no_values_sees_no_sample(checked, sampled, as_):
    sampled()
    assert as_("viewer").get(PAGE).status_code == 403
    assert as_("viewer").get(f"{API}suggestions/check/", headers=HERE).status_code == 403


def test_the_api_proposes_takes_and_tries(checked, sampled, as_):
    sampled()
    client = as_("editor")
    reported = client.get(f"{API}suggestions/check/", headers=HERE).json()
    assert reported["samples"][0]["rows"] == 40
    wish = next(one for one in reported["results"] if one["spec"].get("type") == "regex")

    def post(path, body):
        return client.post(API + path, body, content_type="application/json", headers=HERE)

    assert post("suggestions/check/", {"spec": wish["spec"]}).status_code == 200
    rule = {"type": "oneOf", "field": "colour", "values": ["red"]}
    (trial,) = post("backtest/check/", {"rule": rule}).json()["results"]
    assert (trial["hits"], len(trial["examples"]), trial["examples"][0]["record"]) == (20, 20, 2)
    assert post("backtest/check/", {"rule": {"type": "x"}}).json()["code"] == "rule.type_unknown"
    assert post("sample/", {}).status_code == 202


def test_a_sample_is_taken_by_the_real_engine_whatever_was_loaded(checked, flow, settings, tmp_path):
    """Few bytes are read in this process, without a job."""
    settings.FILES_ROOT, settings.FLOW_WORKSPACE = tmp_path, "alices-team"
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,colour\n" + "".join(f"{n},{'red' if n % 2 else 'green'}\n" for n in range(30)))
    found = flow("rules", "suggest", "numbers", "check", "--json")
    assert found.status == 0, found.stderr
    assert (found.json["samples"][0]["rows"], found.json["samples"][0]["files"]) == (30, ["in/a.csv"])
    assert "notNull" in {one["spec"].get("type") for one in found.json["suggestions"]}
    tried = flow("rules", "try", "numbers", "check", "--rule", '{"type": "range", "field": "id", "max": 9}')
    assert "The sample of the source: 20 of 30 rows" in tried.stdout
    (folder / "a.csv").unlink()
    assert flow("rules", "suggest", "numbers", "check").status == 1
    assert flow("rules", "suggest", "numbers", "check", "--stored").status == 0
    assert flow("rules", "try", "numbers", "check", "--rule", "{").status == 64


def test_a_rule_is_read_as_a_document_has_it():
    assert read_rule({"type": "range", "field": "a", "min": 1}).on_fail == "warn"


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "regex", "field": "a", "pattern": "("},
        {"type": "jsonSchema", "field": "a", "schema": {"type": "nope"}},
        {"type": "range", "field": "a", "min": "abc"},
        {"type": "range", "field": "a", "min": "1", "max": "2020-01-01"},
    ],
)
def test_a_rule_that_no_run_would_take_is_not_tried(rule):
    with pytest.raises(FlowError):
        read_rule(rule)
    assert list(rules_of({"rowLevel": [rule]})) == []


@pytest.fixture
def unsaved(connected, person):
    """A pipeline that was never saved, and whose draft has a target that is not finished."""
    pipeline, editor = create_pipeline(connected, "fresh"), person("editor")
    source, load = make_document()["nodes"]
    check = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": []}
    nodes = [source, check, {**load, "inputs": ["check"], "table": ""}]
    replace_text(open_draft(pipeline, editor), json.dumps(make_document("fresh", nodes=nodes)))
    return pipeline


FRESH = "/w/alices-team/suggestions/fresh/check/"


def test_a_draft_that_was_never_saved_is_sampled_as_it_is(unsaved, as_, sent):
    client = as_("editor")
    page = client.get(FRESH)
    assert (page.status_code, "Sample the source" in words(page)) == (200, True)
    assert "reads a sample of the source, as a draft has it" in words(client.post(f"{FRESH}sample/", follow=True))
    run = Run.objects.get()
    assert (run.version, run.kind) == (None, "sample")
    document = read_document(run.document)
    assert [node.id for node in document.nodes] == ["files", "check", "load"]
    assert document.targets()[0].connection == "warehouse"
    for address in (f"/w/alices-team/runs/{run.pk}/", f"/api/runs/{run.pk}/"):
        assert client.get(address, headers=HERE).status_code == 200


def test_a_rule_is_added_to_a_draft_that_was_never_saved(unsaved, as_, person):
    rule = {"type": "notNull", "field": "id", "onFail": "warn"}
    as_("editor").post(f"{FRESH}accept/", {"spec": json.dumps(rule)})
    assert node(unsaved, person("editor"))["rowLevel"] == [rule]


def test_the_source_of_the_draft_is_sampled_and_not_that_of_the_saved_version(checked, as_, person, sent):
    document = json.loads(base_text(checked, 1))
    document["nodes"][0]["config"]["path"] = "elsewhere"
    replace_text(open_draft(checked, person("editor")), json.dumps(document))
    as_("editor").post(f"{PAGE}sample/")
    assert '"path": "elsewhere"' in Run.objects.get().document


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"inputs": []}, "reads from no source yet"),
        ({"inputs": ["check"]}, "reads from no source yet"),
        ({"kind": "target"}, "is not a validate node"),
    ],
)
def test_a_draft_that_cannot_be_sampled_yet_says_why_and_leads_back(unsaved, as_, person, change, expected):
    editor = person("editor")
    document = json.loads(open_draft(unsaved, editor).text)
    document["nodes"][1] |= change
    replace_text(open_draft(unsaved, editor), json.dumps(document))
    page = as_("editor").get(FRESH)
    assert expected in words(page)
    assert 'href="/w/alices-team/pipelines/fresh/?node=check"' in page.content.decode()
    assert expected in words(as_("editor").post(f"{FRESH}sample/", follow=True))
    assert not Run.objects.exists()


def test_a_node_that_is_gone_is_reported_with_the_way_back(unsaved, as_):
    page = as_("editor").get("/w/alices-team/suggestions/fresh/gone/")
    assert page.status_code == 404
    assert "Back to the editor" in words(page)
