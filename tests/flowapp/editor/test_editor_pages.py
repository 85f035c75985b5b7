"""The editor's page and fragments: their content, and changes of the draft by its forms."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from flowapp.pipelines.drafts import open_draft, patch_draft, replace_text
from flowapp.pipelines.models import Draft
from flowapp.pipelines.services import create_pipeline, save_version, set_enabled, set_paused
from flowapp.runs.models import CommitRecord, Trigger
from flowapp.runs.services import queue_run
from flowapp.web.document_form import document_tree
from ir.schedules import EverySchedule, jitter_of
from tests.connectors.tar_archive.storage import register
from tests.databases import connect_to
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
TABS = ("visual", "json", "sql", "lineage", "runs", "errors", "schedule", "history")
HTMX = {"HX-Request": "true"}


@pytest.fixture
def url(pipeline):
    return lambda name="edit", **query: reverse(
        f"pipelines:{name}", args=[pipeline.workspace.slug, pipeline.slug], query=query or None
    )


@pytest.fixture
def act(web, url):
    """Post to the form of a node, as its fields do."""

    def call(action, path="", node="load", at="/nodes/1", **data):
        address = url("form", tab="visual", node=node, at=at)
        return web.post(address, {"action": action, "path": path, **data}, headers=HTMX)

    return call


@pytest.fixture
def draft(pipeline, editor):
    return lambda: json.loads(open_draft(pipeline, editor).text)


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_every_tab_is_there_for_every_role(url, person, sign_in, tab, role):
    assert sign_in(person(role)).get(url(tab=tab)).status_code == 200


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_works_without_any_version(web, workspace, tab):
    create_pipeline(workspace, "fresh")
    address = reverse("pipelines:edit", args=[workspace.slug, "fresh"], query={"tab": tab})
    assert web.get(address).status_code == 200


@pytest.mark.parametrize("connection", [{}, {"connection": ""}])
@pytest.mark.parametrize(("role", "next_step"), [("admin", "Add a connection"), ("editor", "Ask an admin")])
def test_a_target_asks_for_a_connection_before_there_is_any(workspace, person, sign_in, role, next_step, connection):
    fresh, user = create_pipeline(workspace, "fresh"), person(role)
    load = {key: value for key, value in make_document()["nodes"][1].items() if key != "connection"} | connection
    replace_text(open_draft(fresh, user), json.dumps(make_document("fresh", nodes=[load])))
    address = reverse("pipelines:edit", args=[workspace.slug, "fresh"], query={"tab": "visual", "node": "load"})
    page = sign_in(user).get(address)
    assert f"There is no connection yet. {next_step}" in words(page)
    assert 'path": "/nodes/0/connection"' in page.content.decode()
    assert "(unknown)" not in words(page).partition("There is no connection yet.")[0].rpartition("Connection")[2]


def test_the_islands_get_their_addresses(web, url):
    page = web.get(url()).content.decode()
    assert 'data-draft-url="/api/pipelines/numbers/draft/"' in page
    page = web.get(url(tab="json")).content.decode()
    assert 'data-schema-url="/api/schema/pipeline.json"' in page


def test_a_limit_is_explained_by_what_it_limits(web, url, act):
    for field in ("hold", "expectedRowCountDelta"):
        act("set", f"/nodes/1/{field}/maxDecreasePct", value="50")
    page = words(web.get(url(node="load")))
    assert "Percent of the rows that the table has before the load." in page
    assert "Percent by which a load may be smaller than the mean of earlier loads." in page


def test_a_viewer_sees_forms_that_cannot_be_changed(url, person, sign_in):
    page = sign_in(person("viewer")).get(url(node="load")).content.decode()
    assert "read only" in page
    assert "hx-post" not in page
    assert 'data-readonly="true"' in page


@pytest.mark.parametrize("name", ["form", "fix", "undo", "redo", "discard", "keep", "save", "run", "restore", "switch"])
def test_a_viewer_changes_nothing(url, person, sign_in, name):
    client = sign_in(person("viewer"))
    assert client.post(url(name), {"action": "delete_node", "what": "enabled"}).status_code == 403
    assert not Draft.objects.exists()


def test_a_field_changes_only_its_value(act, draft, pipeline):
    before = draft()
    assert act("set", "/nodes/1/table", value="other").status_code == 200
    before["nodes"][1]["table"] = "other"
    assert draft() == before


def test_the_answer_brings_the_form_the_bars_and_the_news(act):
    response = act("set", "/nodes/1/table", value="")
    page = response.content.decode()
    assert 'id="flow-panel"' in page
    assert 'id="flow-title"' in page
    assert "1 error" in page
    assert json.loads(response["HX-Trigger"])["flow:draft-changed"]["origin"] == "form"


@pytest.mark.parametrize(
    ("path", "data", "place", "value"),
    [
        ("/nodes/1/emptyAsNull", {}, "emptyAsNull", False),
        ("/nodes/1/emptyAsNull", {"value": "true"}, "emptyAsNull", True),
        ("/nodes/1/onTypeMismatch", {"value": "skip"}, "onTypeMismatch", "skip"),
        ("/nodes/1/upsertKey", {"line": ["id", "", "day"]}, "upsertKey", ["id", "day"]),
        ("/nodes/1/watermarkLag", {"value": "5"}, "watermarkLag", 5),
        ("/nodes/1/watermarkLag", {"value": "5m"}, "watermarkLag", "5m"),
        ("/nodes/1/watermarkLag", {"value": '"5"'}, "watermarkLag", "5"),
        ("/nodes/1/expectedRowCountDelta/windowRuns", {"value": "9"}, "expectedRowCountDelta", {"windowRuns": 9}),
        ("/nodes/1/expectedRowCountDelta/windowRuns", {"value": "x"}, "expectedRowCountDelta", {"windowRuns": "x"}),
    ],
)
def test_what_is_typed_becomes_json_of_the_schemas_type(act, draft, path, data, place, value):
    assert act("set", path, **data).status_code == 200
    assert draft()["nodes"][1][place] == value


def test_an_emptied_field_is_taken_out(act, draft):
    act("set", "/nodes/1/name", value="Load")
    act("set", "/nodes/1/name", value="")
    assert "name" not in draft()["nodes"][1]


def test_lists_of_kinds_grow_shrink_and_move(act, draft, pipeline):
    act("add_node", kind="validate", node="")
    rules = {"node": "check", "at": "/nodes/2"}
    act("append", "/nodes/2/rowLevel", tag="notNull", **rules)
    act("append", "/nodes/2/rowLevel", tag="range", **rules)
    act("up", "/nodes/2/rowLevel/1", **rules)
    assert [rule["type"] for rule in draft()["nodes"][2]["rowLevel"]] == ["range", "notNull"]
    act("remove", "/nodes/2/rowLevel/0", **rules)
    act("append", "/nodes/2/datasetLevel/rowCount", **rules)
    act("append", "/nodes/2/datasetLevel/rowCount", **rules)
    node = draft()["nodes"][2]
    assert [rule["type"] for rule in node["rowLevel"]] == ["notNull"]
    assert node["datasetLevel"] == {"rowCount": [{"onFail": "abort"}] * 2}


def test_another_alternative_keeps_the_fields_that_both_have(act, draft):
    files = {"node": "files", "at": "/nodes/0"}
    act("set", "/nodes/0/config/format/header", **files)
    act("choose", "/nodes/0/config/format", tag="tsv", **files)
    assert draft()["nodes"][0]["config"]["format"] == {"type": "tsv", "header": False}
    act("choose", "/nodes/0/config/format", tag="parquet", **files)
    assert draft()["nodes"][0]["config"]["format"] == {"type": "parquet"}


def test_maps_are_edited_by_rows(act, draft):
    act("add_node", kind="transform", node="")
    shape = {"node": "transform", "at": "/nodes/2"}
    act("append", "/nodes/2/ops", tag="fillNull", **shape)
    act("set", "/nodes/2/ops/0/columns", key=["a", "b", ""], value=["1", "x", ""], **shape)
    assert draft()["nodes"][2]["ops"] == [{"op": "fillNull", "columns": {"a": 1, "b": "x"}}]


def test_one_format_is_text_and_several_are_a_list(act, draft):
    column = {"node": "files", "at": "/nodes/0"}
    act("append", "/nodes/0/columns", **column)
    formats = []
    for lines in (["%d.%m.%Y", ""], ["%d.%m.%Y", "%Y-%m-%d", ""], [""]):
        page = act("set", "/nodes/0/columns/0/format", line=lines, **column).content.decode()
        assert [line for line in lines if line and f'value="{line}"' not in page] == []
        formats.append(draft()["nodes"][0]["columns"][0].get("format"))
    assert formats == ["%d.%m.%Y", ["%d.%m.%Y", "%Y-%m-%d"], None]


def test_a_space_may_separate_groups(act, draft):
    column = {"node": "files", "at": "/nodes/0"}
    act("append", "/nodes/0/columns", **column)
    page = act("set", "/nodes/0/columns/0/groupSeparator", value=" ", **column).content.decode()
    assert draft()["nodes"][0]["columns"][0]["groupSeparator"] == " "
    assert '<option value=" " selected>space</option>' in page


def test_a_cast_takes_types_and_objects(act, draft):
    act("add_node", kind="transform", node="")
    shape = {"node": "transform", "at": "/nodes/2"}
    act("append", "/nodes/2/ops", tag="cast", **shape)
    to = '{"type": "float", "decimalSeparator": ","}'
    page = act("set", "/nodes/2/ops/0/columns", key=["a", "b", ""], value=["integer", to, ""], **shape)
    columns = {"a": "integer", "b": {"type": "float", "decimalSeparator": ","}}
    assert draft()["nodes"][2]["ops"] == [{"op": "cast", "columns": columns}]
    assert "decimalSeparator&quot;: &quot;,&quot;" in page.content.decode()


def test_an_aggregate_is_made_in_the_form(act, draft):
    act("add_node", kind="transform", node="")
    shape, op = {"node": "transform", "at": "/nodes/2"}, "/nodes/2/ops/0"
    act("append", "/nodes/2/ops", tag="aggregate", **shape)
    act("set", f"{op}/by", line=["country", ""], **shape)
    act("append", f"{op}/columns", **shape)
    act("set", f"{op}/columns/0/as", value="total", **shape)
    act("set", f"{op}/columns/0/function", value="sum", **shape)
    page = act("set", f"{op}/columns/0/column", value="amount", **shape)
    columns = [{"as": "total", "function": "sum", "column": "amount"}]
    assert draft()["nodes"][2]["ops"] == [{"op": "aggregate", "by": ["country"], "columns": columns}]
    assert "Group by" in words(page)


def test_a_renamed_node_is_renamed_where_others_read_from_it(act, draft):
    page = act("rename_node", node="files", at="/nodes/0", value="raw").content.decode()
    assert 'data-node="raw"' in page
    assert [draft()["nodes"][0]["id"], draft()["nodes"][1]["inputs"]] == ["raw", ["raw"]]


def test_a_deleted_node_is_taken_out_of_the_inputs_of_others(act, draft):
    act("delete_node", node="files", at="/nodes/0")
    (node,) = draft()["nodes"]
    assert (node["id"], node["inputs"]) == ("load", [])


def test_edges_can_be_drawn_without_a_canvas(act, draft):
    act("add_node", kind="transform", node="")
    act("set_input", node="transform", at="/nodes/2", value="files")
    act("set_input", value="transform")
    assert draft()["nodes"][1]["inputs"] == ["transform"]


def test_the_form_of_a_union_offers_all_nodes_that_it_can_unite(web, url, act, draft, pipeline, editor):
    act("add_node", kind="source", node="")
    act("add_node", kind="transform", node="")
    index = len(draft()["nodes"]) - 1
    ops = {"op": "add", "path": f"/nodes/{index}/ops", "value": [{"op": "union"}]}
    patch_draft(open_draft(pipeline, editor), [ops])
    name, other = draft()["nodes"][index]["id"], draft()["nodes"][index - 1]["id"]
    act("set_input", node=name, at=f"/nodes/{index}", value=["files", other])
    assert draft()["nodes"][index]["inputs"] == [other, "files"]  # the input that it had stays the first
    page = web.get(url(node=name))
    assert "Unites the rows of" in words(page)
    boxes = re.findall(
        r'<input class="form-check-input" type="checkbox" name="value" value="(\w+)"( checked)?', page.content.decode()
    )
    assert boxes == [("files", " checked"), (other, " checked")]


def test_a_form_that_was_drawn_before_its_node_moved_changes_that_node(act, draft, pipeline, editor):
    patch_draft(open_draft(pipeline, editor), [{"op": "move", "from": "/nodes/1", "path": "/nodes/0"}])
    act("set", "/nodes/1/table", value="other")
    assert [node.get("table") for node in draft()["nodes"]] == ["other", None]


@pytest.mark.parametrize(
    ("action", "path", "data"),
    [
        ("explode", "", {}),
        ("set", "/nodes/1/nothing", {"value": "x"}),
        ("remove", "/nodes/9", {}),
        ("up", "/nodes/1/table", {}),
        ("add_node", "", {"kind": "x"}),
        ("set", "/nodes/x/y", {}),
    ],
)
def test_what_makes_no_sense_is_refused_and_reported(act, draft, action, path, data):
    response = act(action, path, **data)
    assert response.status_code == 422
    assert response["HX-Retarget"] == "#messages"


def test_a_text_that_cannot_be_read_makes_forms_read_only(web, url, act, pipeline, editor):
    replace_text(open_draft(pipeline, editor), "{")
    page = web.get(url(node="load")).content.decode()
    assert "The JSON text is invalid. Forms and canvas show the last valid state and cannot change it." in page
    assert 'hx-post="/w/alices-team/pipelines/numbers/form/' not in page
    assert act("set", "/nodes/1/table", value="x").status_code == 422


def test_undo_takes_a_forms_change_back(act, web, url, draft):
    before = draft()
    act("set", "/nodes/1/table", value="other")
    assert web.post(url("undo", tab="visual", node="load"), headers=HTMX).status_code == 200
    assert draft() == before


def test_saving_makes_a_version_and_reports_it(act, web, url, pipeline):
    act("set", "/nodes/1/table", value="other")
    response = web.post(url("save", tab="visual"), {"message": "Other table"}, headers=HTMX)
    assert "Saved as version 2" in response["HX-Trigger"]
    assert pipeline.versions.get(number=2).message == "Other table"


def test_a_conflict_shows_both_documents_and_merges_nothing(act, web, url, pipeline, document):
    act("set", "/nodes/1/table", value="mine")
    save_version(pipeline.workspace, json.dumps(document(metadata={"name": "Theirs"}), indent=2))
    response = web.post(url("save", tab="visual"), headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 412
    assert "Theirs" in page
    assert "mine" in page
    assert pipeline.versions.count() == 2
    save_version(pipeline.workspace, json.dumps(document(metadata={"name": "Even newer"}), indent=2))
    shown_since = web.post(url("keep", tab="visual"), {"version": "2"}, headers=HTMX)
    assert (shown_since.status_code, "Even newer" in shown_since.content.decode()) == (412, True)
    web.post(url("keep", tab="visual"), {"version": "3"}, headers=HTMX)
    assert web.post(url("save", tab="visual"), headers=HTMX).status_code == 200
    assert pipeline.versions.count() == 4


def test_running_asks_to_save_first(act, web, url, pipeline, django_capture_on_commit_callbacks, monkeypatch):
    sent = []
    monkeypatch.setattr("flowapp.runs.services.send_run", sent.append)
    act("set", "/nodes/1/table", value="other")
    assert "Save and run" in web.post(url("run"), headers=HTMX).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        response = web.post(url("run"), {"save": "1"}, headers=HTMX)
    run = pipeline.runs.get()
    assert response["HX-Redirect"] == reverse("runs:detail", args=[pipeline.workspace.slug, run.pk])
    assert (run.version.number, sent) == (2, [run.pk])


def test_any_two_versions_and_the_draft_are_compared_side_by_side(act, web, url):
    act("set", "/nodes/1/table", value="other_table")
    page = web.get(url(tab="history", left="1", right="draft")).content.decode()
    assert "other_table" in page
    assert web.get(url(tab="history", left="77", right="draft")).status_code == 404


def test_restoring_makes_the_newest_version(act, web, url, pipeline):
    act("set", "/nodes/1/table", value="other")
    web.post(url("save", tab="visual"), headers=HTMX)
    web.post(url("restore", tab="history"), {"version": "1"}, headers=HTMX)
    assert pipeline.versions.get(number=3).document == pipeline.versions.get(number=1).document


@pytest.mark.parametrize(
    ("chosen", "schedule", "described"),
    [
        ({"frequency": "hourly", "minute": "15"}, "15 * * * *", "every hour at minute 15 (UTC)"),
        ({"frequency": "daily", "time": "02:00"}, "0 2 * * *", "every day at 02:00 (UTC)"),
        ({"frequency": "weekdays", "time": "06:30"}, "30 6 * * 1-5", "every weekday at 06:30 (UTC)"),
        ({"frequency": "weekly", "day_of_week": ["3", "1"]}, "0 6 * * 1,3", "every Monday and Wednesday at 06:00"),
        ({"frequency": "monthly", "day": "2", "time": "1:05"}, "5 1 2 * *", "on day 2 of every month at 01:05 (UTC)"),
        ({"frequency": "cron", "expression": "5 4 L * *"}, "5 4 L * *", "at 04:05 on the last day of every month"),
    ],
)
def test_a_schedule_is_chosen_by_common_times_and_described(act, draft, web, url, chosen, schedule, described):
    act("set_schedule", "", node="", at="", **chosen)
    assert draft()["schedule"] == {"kind": "cron", "expression": schedule, "timezone": "UTC"}
    page = words(web.get(url(tab="schedule")))
    assert described in page
    assert len(re.findall(r"\d\d-\d\d \d\d:\d\d UTC", page)) == 3
    act("set_schedule", "", node="", at="", frequency="every", interval="90m")
    assert "every 90 minutes" in words(web.get(url(tab="schedule")))
    act("set_schedule", "", node="", at="", frequency="")
    assert "schedule" not in draft()


def test_a_schedule_keeps_its_jitter_and_what_happens_to_missed_times(act, draft, web, url, pipeline):
    act("set_schedule", "", node="", at="", frequency="every", interval="1h", jitter="10m", catch_up="all")
    assert draft()["schedule"] == {"kind": "every", "interval": "1h", "jitter": "10m", "catchUp": "all"}
    page = web.get(url(tab="schedule")).content.decode()
    assert '<option value="all" selected>' in page
    offset = jitter_of(EverySchedule.read(draft()["schedule"]), pipeline.schedule_key)
    times = re.findall(r"\d\d-\d\d \d\d:(\d\d)(?::(\d\d))? UTC", page)
    assert {int(minute) * 60 + int(second or 0) for minute, second in times} == {offset.total_seconds()}


def test_a_form_that_shows_another_draft_changes_nothing_and_is_brought_up_to_date(
    act, web, url, draft, pipeline, editor
):
    seen = {"If-Match": f'"{open_draft(pipeline, editor).revision}"', "X-Flow-Page": "a" * 32}
    act("set", "/nodes/1/table", value="first_tab")
    address = url("form", tab="visual", node="load", at="/nodes/1")
    asked = {"action": "set", "path": "/nodes/1/table", "value": "second_tab"}
    answer = web.post(address, asked, headers={**HTMX, **seen})
    assert (answer.status_code, draft()["nodes"][1]["table"]) == (409, "first_tab")
    page = words(answer)
    assert "changed in another tab or program" in page
    assert "You entered: second_tab" in page
    assert 'value="first_tab"' in answer.content.decode()
    now = {**seen, "If-Match": f'"{open_draft(pipeline, editor).revision}"'}
    assert web.post(address, asked, headers={**HTMX, **now}).status_code == 200
    assert draft()["nodes"][1]["table"] == "second_tab"


@pytest.mark.parametrize("name", ["undo", "redo", "discard", "save", "keep"])
@pytest.mark.parametrize("tab", ["visual", "sql"])
def test_no_button_of_an_editor_that_shows_another_draft_changes_it(act, web, url, draft, pipeline, editor, name, tab):
    seen = {"If-Match": f'"{open_draft(pipeline, editor).revision}"'}
    act("set", "/nodes/1/table", value="first_tab")
    answer = web.post(url(name, tab=tab), {"version": "1"}, headers={**HTMX, **seen})
    if tab == "sql":
        assert answer["HX-Refresh"] == "true"
        answer = web.get(url(tab=tab))
    assert "changed in another tab or program" in words(answer)
    assert (draft()["nodes"][1]["table"], pipeline.versions.count()) == ("first_tab", 1)


def test_the_editor_is_never_taken_from_a_cache(web, url):
    assert "no-store" in web.get(url())["Cache-Control"]


NIGHTLY = {"kind": "cron", "expression": "0 2 * * *", "timezone": "Europe/Berlin"}


def test_times_of_a_schedule_are_in_its_zone_wherever_they_are(web, url, save):
    save(schedule=NIGHTLY)
    named = re.compile(r"02:00 CES?T \(Europe/Berlin\)")
    page = words(web.get(url(tab="schedule")))
    assert len(named.findall(page)) == 5, "three to come, the saved one, and the one at the bottom"
    assert "UTC" not in page
    assert named.search(words(web.get(url())))
    row = web.get(reverse("pipelines:list", args=["alices-team"]))
    assert named.search(words(row))
    assert len(named.findall(row.content.decode())) == 1, "also where it is pointed at"


@pytest.mark.parametrize(
    ("switched", "expected"),
    [({"paused": True}, "the schedule is paused"), ({"enabled": False}, "the pipeline is disabled")],
)
def test_a_schedule_that_rests_lists_no_times(web, url, save, switched, expected):
    pipeline = save(schedule=NIGHTLY).pipeline
    for name, value in switched.items():
        {"paused": set_paused, "enabled": set_enabled}[name](pipeline, value)
    page = words(web.get(url(tab="schedule")))
    assert "02:00 CE" not in page
    assert f"None: {expected}" in page
    assert f"Next run: none, {expected}" in page


def test_all_load_modes_are_cards_and_the_chosen_one_says_what_it_runs_and_needs(web, url, act):
    page = web.get(url(node="load")).content.decode()
    assert page.count('for="mode-') == 6
    assert "Needs: Nothing." in page
    assert "Needs: A key in &quot;Key columns&quot;" not in page
    assert "Needs: A key in &quot;Key columns&quot;" in act("set", "/nodes/1/loadMode", value="upsert").content.decode()


def test_a_load_mode_that_cannot_be_used_here_says_why(web, url):
    card = words(web.get(url(node="load")))
    assert "Not available: FLOW_STREAMING_ENABLED is off." in card


def test_advanced_settings_are_closed_and_say_how_many_are_set(web, url, act):
    assert 'id="group-target-safeguards"><summary' in web.get(url(node="load")).content.decode()
    changed = act("set", "/nodes/1/backupBeforeLoad", value="true")
    assert "Safeguards 1 set" in words(changed)
    act("set", "/backfill/window", value="30d", node="")
    assert "Backfill 2 set" in words(act("set", "/backfill/parallelism", value="2", node=""))


@pytest.mark.parametrize(
    ("streaming", "reported"), [(False, "streaming disabled"), (True, "Debezium connector not configured")]
)
def test_the_missing_condition_of_cdc_mirror_appears_at_its_card_before_any_save(
    act, web, url, settings, streaming, reported
):
    settings.FLOW_STREAMING_ENABLED = streaming
    page = act("set", "/nodes/1/loadMode", value="cdc_mirror").content.decode()
    card = page[page.index('for="mode-cdc_mirror"') :]

    assert reported in card
    assert '<a href="/docs/cdc-mirror/">' in card
    refused = web.post(url("save", tab="visual"), headers=HTMX)
    assert (refused.status_code, reported in refused.content.decode()) == (422, True)


def test_a_missing_key_is_an_error_at_its_field_with_a_fix_before_any_save(act, web, url, warehouse, schema, draft):

    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE TABLE {schema}.numbers (id int PRIMARY KEY, note text)")
    page = act("set", "/nodes/1/loadMode", value="upsert").content.decode()
    assert "upsert needs a key in &quot;Key columns&quot;" in page
    assert "Set Key columns to id" in page
    fix = [{"op": "add", "path": "/nodes/1/upsertKey", "value": ["id"]}]
    response = web.post(url("fix", tab="visual", node="load"), {"patch": json.dumps(fix)}, headers=HTMX)
    assert "no errors" in response.content.decode()
    assert draft()["nodes"][1]["upsertKey"] == ["id"]


def test_a_new_node_reads_from_the_loose_end_and_a_validate_node_keeps_rejected_rows(act, draft):
    for kind in ("source", "transform", "validate", "transform", "target"):
        act("add_node", kind=kind, node="", at="")
    added = draft()["nodes"][2:]

    assert [node.get("inputs") for node in added] == [None, ["source"], ["transform"], [], []]
    assert added[2]["quarantine"] == {"enabled": True, "table": "dlq.numbers"}


def test_what_keeps_a_draft_from_being_saved_is_listed_with_the_way_there(web, url, act):
    act("set", "/nodes/1/loadMode", value="upsert")
    refused = web.post(url("save", tab="json"), headers=HTMX)
    page = refused.content.decode()

    assert (refused.status_code, refused["HX-Retarget"]) == (422, "#messages")
    assert "the draft has 1 error" in page
    assert f"{url()}?tab=json&amp;node=load" in page
    assert "/nodes/1" not in page


def test_a_version_is_shown_by_its_number(web, url, save):
    save(metadata={"name": "Changed"})
    page = web.get(url(tab="history", version="1")).content.decode()

    assert 'aria-label="Document of version 1"' in page
    assert "Changed" not in page.partition('<pre class="flow-document')[2].partition("</pre>")[0]
    assert web.get(url(tab="history", version="77")).status_code == 404


def test_tabs_keep_the_chosen_node(web, url):
    answer = web.get(url("panel", tab="visual", node="load"), headers=HTMX).content.decode()

    assert '<ul id="flow-tabs"' in answer
    assert "?tab=json&amp;node=load" in answer


def test_the_sql_tab_reports_what_a_load_runs_and_what_the_last_one_sent(web, url, pipeline):
    page = web.get(url(tab="sql")).content.decode()
    assert "INSERT of the staged rows, by column name" in page
    assert "After a load, the statements of the last run appear here" in page

    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    CommitRecord.objects.create(
        workspace=pipeline.workspace,
        pipeline=pipeline,
        run=run,
        node="load",
        attempt=1,
        committed_at=timezone.now(),
        statements=['INSERT INTO "public"."numbers" SELECT 1'],
    )
    page = web.get(url(tab="sql")).content.decode()
    assert "INSERT INTO &quot;public&quot;.&quot;numbers&quot; SELECT 1;" in page
    assert f"run {run.number}</a> (v1)" in page


def test_the_sql_tab_shows_expressions_as_spark_gets_them(web, url, save):
    nodes = make_document()["nodes"]
    ops = [{"op": "derive", "columns": {"twice": "id * 2"}}, {"op": "filter", "where": "twice > 2"}]
    shape = {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": ops}
    save(nodes=[nodes[0], shape, {**nodes[1], "inputs": ["shape"]}])

    page = words(web.get(url(tab="sql")))
    assert "shape column twice (`id` * 2)" in page
    assert "shape filter (`twice` > 2)" in page


def test_the_lineage_tab_draws_columns_from_the_source_to_the_target(web, url, save):
    nodes = make_document()["nodes"]
    shape = {
        "id": "shape",
        "kind": "transform",
        "inputs": ["files"],
        "ops": [{"op": "rename", "columns": {"id": "number"}}],
    }
    save(nodes=[nodes[0], shape, {**nodes[1], "inputs": ["shape"]}])

    page = web.get(url(tab="lineage"))
    assert "number from id renamed from id" in words(page)
    assert '<path d="M0 16C80 16 80 16 160 16"/>' in page.content.decode()


@pytest.mark.parametrize("tab", ["sql", "lineage"])
def test_what_faulty_drafts_run_is_not_guessed(web, url, act, tab):
    act("set", "/nodes/1/loadMode", value="upsert")
    assert "The draft has errors" in web.get(url(tab=tab)).content.decode()


def test_another_connector_starts_with_settings_of_its_own_and_asks_for_a_connection(act, draft, web, url):
    source = {"node": "files", "at": "/nodes/0"}
    page = act("set", "/nodes/0/connector", **source, value="postgres").content.decode()
    assert draft()["nodes"][0]["config"] == {"table": {"schema": "public", "name": ""}}
    assert "needs a connection" in page
    act("set", "/nodes/0/config/table/name", **source, value="Orders")
    act("remove", "/nodes/0/config/table", **source)
    act("set", "/nodes/0/config/query", **source, value="select 1 as a")
    assert draft()["nodes"][0]["config"] == {"query": "select 1 as a"}
    page = web.get(url(tab="visual", node="files")).content.decode()
    assert 'name="value"' in page


@pytest.fixture
def tar_archive(monkeypatch):
    register(monkeypatch)
    document_tree.cache_clear()
    yield
    document_tree.cache_clear()


@pytest.mark.usefixtures("tar_archive")
def test_a_connector_from_elsewhere_has_a_form_of_its_own(act, draft):
    source = {"node": "files", "at": "/nodes/0"}
    page = act("set", "/nodes/0/connector", **source, value="tar_archive").content.decode()
    assert '<option value="tar_archive" selected' in page
    assert "The archive, relative to the workspace" in page
    assert "Folder during the load" not in page
    assert draft()["nodes"][0]["config"]["pattern"] == {"type": "glob", "value": "*.jsonl"}
    act("set", "/nodes/0/config/path", **source, value="in.tar")
    assert draft()["nodes"][0]["config"]["path"] == "in.tar"


def test_groups_of_one_kind_of_node_are_not_taken_for_those_of_another(web, url):
    """The browser stores by the group's id whether the user has opened it."""
    target, source = (web.get(url(node=node)).content.decode() for node in ("load", "files"))

    assert 'id="group-target-load-settings" open' in target
    assert "group-target" not in source


def test_a_column_that_the_newest_file_lacks_is_reported_wherever_it_is_misspelt(
    web, url, save, document, person, sign_in, settings, tmp_path
):
    settings.FILES_ROOT = tmp_path
    (tmp_path / "alices-team" / "in").mkdir(parents=True)
    (tmp_path / "alices-team" / "in" / "a.csv").write_text("id,surname\n1,Ann\n")
    source, load = document()["nodes"]
    derive = {"op": "derive", "columns": {"full": "concat(id, ' ', surnam)"}}
    ops = [derive, {"op": "filter", "where": "full > surname"}]
    shape = {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": ops}
    save(nodes=[source, shape, {**load, "inputs": ["shape"]}])
    reported = web.get("/api/pipelines/numbers/draft/").json()["diagnostics"]
    (warning,) = [one for one in reported if one["code"] == "column.not_seen"]
    assert (warning["path"], warning["severity"]) == ("/nodes/1/ops/0/columns/full", "warning")
    assert (warning["message"], warning["hint"]) == (
        "The newest file has no column 'surnam'.",
        "Did you mean 'surname'?",
    )
    assert warning["fixes"][0][0]["value"] == "concat(id, ' ', surname)"
    asked = {"document": document(nodes=[source, shape, {**load, "inputs": ["shape"]}])}
    for role, codes in (("editor", ["column.not_seen"]), ("viewer", [])):
        answer = sign_in(person(role)).post("/api/pipelines/validate/", asked, "application/json").json()
        assert [one["code"] for one in answer["diagnostics"]] == codes
    pages = {role: words(sign_in(person(role)).get(url(node="shape"))) for role in ("editor", "viewer")}
    assert "The newest file has no column 'surnam'" in pages["editor"]
    assert "surnam'" not in pages["viewer"]


def test_columns_of_the_file_that_waits_are_suggested_to_those_who_fill_forms_in(
    url, person, sign_in, settings, tmp_path
):
    settings.FILES_ROOT = tmp_path
    (tmp_path / "alices-team" / "in").mkdir(parents=True)
    (tmp_path / "alices-team" / "in" / "a.csv").write_text("id,surname\n1,Ann\n")
    pages = {role: sign_in(person(role)).get(url(node="load")).content.decode() for role in ("editor", "viewer")}

    assert '<option value="surname">' in pages["editor"]
    assert "surname" not in pages["viewer"]


def test_tables_and_the_columns_of_a_source_table_are_suggested(
    web, url, save, document, warehouse, schema, person, sign_in
):

    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE TABLE {schema}.people (id int, surname text)")
    load = document()["nodes"][1]
    config = {"table": {"schema": schema, "name": "people"}}
    source = {"id": "people", "kind": "source", "connector": "postgres", "connection": "warehouse", "config": config}
    rename = {"op": "rename", "columns": {"surname": "family"}}
    shape = {"id": "shape", "kind": "transform", "inputs": ["people"], "ops": [rename]}
    save(nodes=[source, shape, {**load, "inputs": ["shape"]}])

    pages = {node: web.get(url(node=node)).content.decode() for node in ("people", "shape", "load")}
    assert '<option value="people">' in pages["people"]
    assert f'<option value="{schema}">' in pages["people"]
    assert '<option value="surname">' in pages["shape"]
    assert '<option value="family">' in pages["load"]
    assert '<option value="surname">' not in pages["load"]
    assert "surname" not in sign_in(person("viewer")).get(url(node="people")).content.decode()
