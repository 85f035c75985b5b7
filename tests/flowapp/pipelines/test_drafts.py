"""Drafts: one text behind form, canvas and JSON tab; undo across them; saving; conflicts."""

from __future__ import annotations

import json

import jsonpatch
import pytest
from django.core.cache import cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowapp.pipelines import drafts
from flowapp.pipelines.drafts import (
    DraftConflict,
    Seen,
    TextRefused,
    discard,
    open_draft,
    patch_draft,
    put_on_version,
    redo,
    replace_text,
    save_draft,
    undo,
    view_draft,
)
from flowapp.pipelines.models import Draft, DraftStep
from flowapp.pipelines.serializers import DraftSerializer
from flowapp.pipelines.services import VersionConflict, create_pipeline, save_version
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError
from ir.json_edits import UnreadableText
from tests.databases import connect_to
from tests.properties import examples

pytestmark = pytest.mark.django_db
RENAME = [{"op": "add", "path": "/metadata", "value": {"name": "Numbers"}}]


def test_looking_at_a_draft_stores_nothing(pipeline, editor):
    view = view_draft(open_draft(pipeline, editor))
    assert (view.document["id"], view.changes, view.can_undo) == ("numbers", 0, False)
    assert not Draft.objects.exists()


def test_a_patch_leaves_every_other_byte(connected, document, editor):
    text = json.dumps(document(), indent=7)
    pipeline = save_version(connected, text).pipeline
    draft = patch_draft(open_draft(pipeline, editor), [{"op": "replace", "path": "/nodes/1/table", "value": "other"}])
    assert draft.text == text.replace('"table": "numbers"', '"table": "other"')


def test_a_draft_lasts_until_it_is_opened_again(pipeline, editor):
    text = patch_draft(open_draft(pipeline, editor), RENAME).text
    assert open_draft(pipeline, editor).text == text


def test_everybody_has_a_draft_of_their_own(pipeline, editor, person):
    patch_draft(open_draft(pipeline, editor), RENAME)
    assert view_draft(open_draft(pipeline, person("admin"))).changes == 0


def test_undo_and_redo_go_across_form_and_json_tab(pipeline, editor):
    draft = open_draft(pipeline, editor)
    texts = [draft.text]
    texts.append(patch_draft(draft, RENAME, "Form").text)
    texts.append(replace_text(draft, "{ no json", "JSON").text)
    texts.append(replace_text(draft, texts[0] + " ", "JSON").text)
    assert [undo(draft).text for _ in range(4)] == [texts[2], texts[1], texts[0], texts[0]]
    assert [redo(draft).text for _ in range(4)] == [*texts[1:], texts[3]]


def test_a_change_after_an_undo_ends_what_could_be_redone(pipeline, editor):
    draft = patch_draft(open_draft(pipeline, editor), RENAME)
    first = draft.position
    undo(draft)
    patch_draft(draft, [{"op": "add", "path": "/metadata", "value": {"owner": "me"}}])
    assert redo(draft).text == draft.text
    assert draft.position != first
    assert undo(draft).text == open_draft(pipeline, None).text


def test_only_the_newest_steps_are_stored(pipeline, editor, monkeypatch):
    monkeypatch.setattr(drafts, "MOST_STEPS", 3)
    draft = open_draft(pipeline, editor)
    for i in range(6):
        replace_text(draft, f"text {i}")
    assert DraftStep.objects.count() == 3
    assert [undo(draft).text for _ in range(4)] == ["text 4", "text 3", "text 2", "text 2"]


def test_text_that_is_no_json_keeps_the_last_good_state_and_takes_no_patches(pipeline, editor):
    draft = replace_text(open_draft(pipeline, editor), "{")
    view = view_draft(draft)
    assert view.document is None
    assert view.last_good["id"] == "numbers"
    assert DraftSerializer(view, context={"can_edit": True}).data["readOnly"] is True
    assert [d.code for d in view.checked.diagnostics] == ["document.syntax"]
    with pytest.raises(UnreadableText):
        patch_draft(draft, RENAME)


def test_a_text_made_from_another_position_is_refused(pipeline, editor):
    draft = open_draft(pipeline, editor)
    patch_draft(draft, RENAME)
    with pytest.raises(DraftConflict):
        replace_text(draft, "{}", position=0)
    assert replace_text(draft, "{}", position=draft.position).text == "{}"


def test_of_two_tabs_with_the_same_draft_none_loses_the_others_patch(pipeline, editor):
    here, there = open_draft(pipeline, editor), open_draft(pipeline, editor)
    patch_draft(here, RENAME)
    patch_draft(there, [{"op": "add", "path": "/errorHandling", "value": {"maxMinutes": 5}}])
    assert {"metadata", "errorHandling"} <= json.loads(open_draft(pipeline, editor).text).keys()


def test_an_edit_made_from_another_draft_is_refused_on_every_surface(pipeline, editor):
    draft = open_draft(pipeline, editor)
    seen, page = Seen(draft.revision, "a" * 32), "b" * 32
    draft = patch_draft(draft, RENAME, seen=Seen(draft.revision, page))
    edits = [
        lambda: patch_draft(draft, RENAME, seen=seen),
        lambda: replace_text(draft, "{}", seen=seen),
        lambda: undo(draft, seen),
        lambda: redo(draft, seen),
        lambda: discard(draft, seen),
        lambda: put_on_version(draft, 1, seen),
        lambda: save_draft(draft, editor, seen=seen),
    ]
    for edit in edits:
        with pytest.raises(DraftConflict):
            edit()
    assert open_draft(pipeline, editor).text == draft.text


def test_a_page_may_edit_on_before_the_answer_to_its_last_edit_has_come(pipeline, editor):
    draft = open_draft(pipeline, editor)
    mine, other = Seen(draft.revision, "a" * 32), Seen(draft.revision, "b" * 32)
    patch_draft(draft, RENAME, seen=mine)
    draft = patch_draft(open_draft(pipeline, editor), [{**RENAME[0], "value": {"name": "Again"}}], seen=mine)
    with pytest.raises(DraftConflict):
        patch_draft(draft, RENAME, seen=other)
    with pytest.raises(DraftConflict):
        replace_text(draft, "{}", seen=mine)  # a whole text would undo changes of the form


def test_a_new_draft_after_a_discarded_one_has_another_revision(pipeline, editor):
    draft = patch_draft(open_draft(pipeline, editor), RENAME)
    seen = Seen(draft.revision)
    draft = patch_draft(discard(draft), [{**RENAME[0], "value": {"name": "Other"}}])
    assert draft.position == 1
    with pytest.raises(DraftConflict):
        patch_draft(draft, RENAME, seen=seen)


@pytest.mark.parametrize("text", [None, 1, "a\0", "\ud800", "x" * 5_000_001])
def test_text_that_no_database_keeps_is_refused(pipeline, editor, text):
    with pytest.raises(TextRefused):
        replace_text(open_draft(pipeline, editor), text)


def test_saving_makes_a_version_and_undo_continues(pipeline, editor):
    draft = patch_draft(open_draft(pipeline, editor), RENAME)
    version = save_draft(draft, editor, "A name")
    assert (version.number, version.author, version.message, version.document) == (2, editor, "A name", draft.text)
    draft = open_draft(version.pipeline, editor)
    assert view_draft(draft).changes == 0
    undo(draft)
    assert view_draft(draft).changes == 1


def test_a_faulty_draft_is_not_saved(pipeline, editor):
    draft = patch_draft(open_draft(pipeline, editor), [{"op": "remove", "path": "/nodes/1/table"}])
    with pytest.raises(InvalidPipeline):
        save_draft(draft, editor)
    assert pipeline.versions.count() == 1


def test_a_draft_of_an_older_version_is_not_saved_until_a_person_says_so(connected, document, pipeline, editor, person):
    draft = patch_draft(open_draft(pipeline, editor), RENAME)
    save_version(connected, json.dumps(document(metadata={"name": "Mine"})), person("admin"))
    with pytest.raises(VersionConflict):
        save_draft(draft, editor)
    assert save_draft(put_on_version(draft, 2), editor).number == 3


def test_a_draft_never_follows_a_version_that_its_owner_has_not_seen(connected, document, pipeline, editor, person):
    draft = patch_draft(open_draft(pipeline, editor), RENAME)
    for name in ("Shown", "Saved since"):
        save_version(connected, json.dumps(document(metadata={"name": name})), person("admin"))
    with pytest.raises(VersionConflict):
        put_on_version(draft, 2)
    assert open_draft(pipeline, editor).base_number == 1


def test_an_edit_outlasts_the_removal_of_a_draft_that_was_unchanged_a_moment_ago(
    connected, document, pipeline, editor, monkeypatch
):
    undo(patch_draft(open_draft(pipeline, editor), RENAME))
    save_version(connected, json.dumps(document(metadata={"name": "Newer"})))
    pipeline.refresh_from_db()
    is_changed = drafts.is_changed

    def edited_just_now(draft):
        found = is_changed(draft)
        monkeypatch.setattr(drafts, "is_changed", is_changed)
        redo(Draft.objects.get(pk=draft.pk))
        return found

    monkeypatch.setattr(drafts, "is_changed", edited_just_now)
    assert json.loads(open_draft(pipeline, editor).text)["metadata"] == {"name": "Numbers"}


def test_an_unchanged_draft_follows_the_newest_version(connected, document, pipeline, editor):
    undo(patch_draft(open_draft(pipeline, editor), RENAME))
    newest = save_version(connected, json.dumps(document(metadata={"name": "Mine"})))
    assert open_draft(newest.pipeline, editor).text == newest.document


def test_a_draft_under_another_id_is_not_saved_as_that_pipeline(pipeline, editor):
    draft = patch_draft(open_draft(pipeline, editor), [{"op": "replace", "path": "/id", "value": "other"}])
    with pytest.raises(FlowError, match="id_changed"):
        save_draft(draft, editor)


def test_a_new_pipeline_begins_with_an_empty_document_of_its_id(workspace, editor):
    draft = open_draft(create_pipeline(workspace, "fresh", "Fresh"), editor)
    document = json.loads(draft.text)
    assert (document["id"], document["metadata"], document["nodes"]) == ("fresh", {"name": "Fresh"}, [])


def test_what_was_saved_as_toml_is_edited_as_json(connected, document, editor):
    text = 'kind = "pipeline"\nversion = "1.0"\nid = "numbers"\nnodes = ' + json.dumps(document()["nodes"]).replace(
        '": ', '" = '
    )
    pipeline = save_version(connected, text, syntax="toml").pipeline
    draft = open_draft(pipeline, editor)
    assert json.loads(draft.text)["id"] == "numbers"
    assert view_draft(draft).changes == 0


PATHS = st.sampled_from(["/metadata", "/metadata/name", "/nodes/0/name", "/nodes/1/table", "/nodes/1/upsertKey"])
CHANGES = st.lists(
    st.tuples(st.sampled_from(["form", "json", "undo", "redo"]), PATHS, st.sampled_from(["x", ["a"], {"name": "y"}])),
    max_size=12,
)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHANGES)
def test_random_edits_on_all_surfaces_never_drift(pipeline, editor, changes):
    """The model: a list of documents and a place in it."""
    Draft.objects.all().delete()
    draft = open_draft(pipeline, editor)
    states, at = [json.loads(draft.text)], 0
    for surface, path, value in changes:
        if surface in ("undo", "redo"):
            at = max(0, at - 1) if surface == "undo" else min(len(states) - 1, at + 1)
            (undo if surface == "undo" else redo)(draft)
        else:
            patch = [{"op": "add", "path": path, "value": value}]
            try:
                after = jsonpatch.apply_patch(states[at], patch)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
                continue
            text = draft.text
            made = patch_draft(draft, patch) if surface == "form" else replace_text(draft, json.dumps(after, indent=3))
            if made.text != text:
                states, at = [*states[: at + 1], after], at + 1
        assert json.loads(draft.text) == states[at]
        assert open_draft(pipeline, editor).text == draft.text


@pytest.fixture
def table(warehouse, schema):
    """The destination, with a unique key."""
    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE TABLE {schema}.numbers (id int PRIMARY KEY, note text)")


def test_another_load_mode_is_validated_by_the_real_table_before_any_save(table, pipeline, editor):
    patch = [{"op": "replace", "path": "/nodes/1/loadMode", "value": "upsert"}]
    draft = patch_draft(open_draft(pipeline, editor), patch)
    (missing,) = view_draft(draft).checked.errors
    assert (missing.code, str(missing.path)) == ("upsert.key_required", "/nodes/1/upsertKey")
    assert missing.fixes == ([{"op": "add", "path": "/nodes/1/upsertKey", "value": ["id"]}],)
    assert view_draft(patch_draft(draft, missing.fixes[0])).checked.errors == []


def test_a_key_that_is_not_unique_in_the_table_is_refused_with_the_keys_that_are(table, pipeline, editor):
    patch = [
        {"op": "replace", "path": "/nodes/1/loadMode", "value": "upsert"},
        {"op": "add", "path": "/nodes/1/upsertKey", "value": ["note"]},
    ]
    draft = patch_draft(open_draft(pipeline, editor), patch)
    (wrong,) = view_draft(draft).checked.errors
    assert (wrong.code, wrong.fixes[0][0]["value"]) == ("upsert.key_not_unique", ["id"])
    with pytest.raises(InvalidPipeline):
        save_draft(draft, editor)


def test_how_the_rows_of_a_table_would_be_replaced_is_reported_before_any_save(
    table, warehouse, schema, pipeline, editor
):
    patch = [{"op": "replace", "path": "/nodes/1/loadMode", "value": "blue_green"}]
    draft = patch_draft(open_draft(pipeline, editor), patch)
    assert view_draft(draft).checked.warnings == []
    cache.clear()
    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE MATERIALIZED VIEW {schema}.m AS SELECT * FROM {schema}.numbers")
    (reported,) = view_draft(draft).checked.warnings
    assert reported.code == "blue_green.in_place"
    assert f"materialized view {schema}.m" in reported.message


def test_an_unreachable_database_is_reported_and_nothing_fails(workspace, document, editor):
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection

    add_connection(workspace, "warehouse", ConnectionFields("postgres", "127.0.0.1", 1, "db", "user", "secret"))
    nodes = document()["nodes"]
    nodes[1] |= {"loadMode": "upsert", "upsertKey": ["id"]}
    checked = drafts.check_text(workspace, json.dumps(document(nodes=nodes)))
    assert "upsert.key_not_unique" in {rule.code for rule in checked.skipped}
    assert all("did not answer" in rule.reason for rule in checked.skipped)


def test_an_unknown_connection_is_an_error_at_its_place(connected, document):
    nodes = document()["nodes"]
    nodes[1]["connection"] = "warehous"
    (unknown,) = drafts.check_text(connected, json.dumps(document(nodes=nodes), indent=1)).errors
    assert (unknown.code, str(unknown.path)) == ("connection.unknown", "/nodes/1/connection")
    assert unknown.line is not None
    assert unknown.fixes[0][0]["value"] == "warehouse"
