"""Modules: who adds them, what documents may use, and what is removed."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from flowapp.modules.models import CustomModule
from flowapp.modules.services import add_module, remove_module, resolve_modules
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.services import save_version
from ir.errors import FlowError
from ir.parse import parsePipelineIR
from tests.executors.wasm.modules import echo, ref
from tests.flowapp.modules.conftest import ECHO
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
PAGE = "/w/alices-team/modules/"
OTHER = echo("(nop)")


def refused_with(code: str):
    class Refused:
        def __enter__(self):
            self.raising = pytest.raises(FlowError)
            self.info = self.raising.__enter__()
            return self.info

        def __exit__(self, *error):
            caught = self.raising.__exit__(*error)
            assert self.info.value.code == code
            return caught

    return Refused()


# --- documents ----------------------------------------------------------------------------------------------------


def test_a_document_with_a_stored_module_is_saved_and_a_run_gets_its_bytes(workspace, connected, add, customized):
    stored = add()
    assert save_version(workspace, customized()).number == 1
    code = resolve_modules(workspace, parsePipelineIR(customized()).pipeline)
    assert list(code) == [ref(ECHO)] == [stored.ref]
    assert code[ref(ECHO)].content == ECHO


def test_a_module_of_another_hash_is_refused_at_save_and_by_a_run(workspace, connected, add, customized):
    add(OTHER)
    with refused_with("custom.module_missing") as refused:
        save_version(workspace, customized())
    assert refused.value.node == "shape"
    assert ref(OTHER).partition(":")[2][:12] in refused.value.message
    with refused_with("custom.module_missing"):
        resolve_modules(workspace, parsePipelineIR(customized()).pipeline)


def test_a_module_of_another_workspace_is_unknown(workspace, connected, customized):
    from flowapp.accounts.services import ensure_workspace

    add_module(ensure_workspace("other"), "tested", ECHO, (), "bob")
    with refused_with("custom.module_missing"):
        save_version(workspace, customized())


def test_access_that_is_not_granted_is_refused_until_an_admin_grants_it(workspace, connected, add, customized):
    text = customized(access=["clock"])
    add()
    with refused_with("custom.access_not_granted"):
        save_version(workspace, text)
    add(ECHO, "clock")
    assert save_version(workspace, text).number == 1
    add(ECHO)
    with refused_with("custom.access_not_granted"):
        resolve_modules(workspace, parsePipelineIR(text).pipeline)


def test_the_editor_reports_both_where_they_are_and_offers_the_stored_build(workspace, connected, add, customized):
    add(OTHER)
    (found,) = [d for d in check_text(workspace, customized()).diagnostics if d.severity == "error"]
    assert (found.code, str(found.path)) == ("custom.module_missing", "/nodes/1/ops/0/module")
    assert found.fixes[0][0]["value"] == ref(OTHER)
    add()
    (found,) = check_text(workspace, customized(access=["random"])).errors
    assert (found.code, str(found.path)) == ("custom.access_not_granted", "/nodes/1/ops/0/access")
    assert check_text(workspace, customized()).errors == []


def test_documents_that_are_no_documents_have_no_modules(workspace):
    for text in ("[]", '{"nodes": [1, {"ops": {"op": "custom"}}, {"ops": [null, {"op": "custom", "module": 7}]}]}'):
        codes = {d.code for d in check_text(workspace, text).diagnostics}
        assert "custom.module_missing" not in codes


def test_a_build_that_a_pipeline_uses_is_not_removed(workspace, connected, add, customized):
    stored = add()
    version = save_version(workspace, customized())
    with refused_with("custom.module_used") as refused:
        remove_module(workspace, "tested", stored.sha256)
    assert version.pipeline.slug in refused.value.message
    other = add(OTHER)
    assert remove_module(workspace, "tested", other.sha256[:12]).sha256 == other.sha256
    assert list(CustomModule.objects.values_list("sha256", flat=True)) == [stored.sha256]


@pytest.mark.parametrize(
    ("name", "content", "granted", "code"),
    [
        ("Bad name", ECHO, (), "custom.name_invalid"),
        ("tested", b"text", (), "custom.invalid_module"),
        ("tested", ECHO, ("network",), "custom.access_unknown"),
    ],
)
def test_what_is_no_module_is_not_stored(workspace, name, content, granted, code):
    with refused_with(code):
        add_module(workspace, name, content, granted, "alice")
    assert not CustomModule.objects.exists()


def test_the_same_bytes_again_replace_only_the_grants(workspace, add):
    first = add(ECHO, "clock")
    again = add(ECHO, "random")
    assert (again.pk, again.granted) == (first.pk, ["random"])


# --- pages and API ------------------------------------------------------------------------------------------------


def upload(client, content: bytes = ECHO, **more):
    return client.post(f"{PAGE}add/", {"name": "tested", "file": SimpleUploadedFile("a.wasm", content), **more})


def test_an_admin_uploads_a_module_and_everyone_sees_who_uses_it(workspace, connected, as_, customized):
    assert "No custom transforms yet" in words(as_("viewer").get(PAGE))
    assert upload(as_("admin"), granted=["clock"])["Location"] == PAGE
    slug = save_version(workspace, customized()).pipeline.slug
    for role in ("viewer", "editor", "admin"):
        page = words(as_(role).get(PAGE))
        assert "tested" in page
        assert slug in page
        assert ("Upload a module" in page) == (role == "admin")


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_upload_and_remove(workspace, as_, add, role):
    stored = add()
    assert upload(as_(role), OTHER).status_code == 403
    assert as_(role).post(f"{PAGE}tested/{stored.sha256}/remove/").status_code == 403
    assert CustomModule.objects.count() == 1
    assert as_("admin").post(f"{PAGE}tested/{stored.sha256}/remove/").status_code == 302
    assert not CustomModule.objects.exists()


def test_a_refused_upload_says_why_at_the_field(workspace, as_):
    answer = upload(as_("admin"), echo(imports='(import "env" "socket" (func))'))
    assert answer.status_code == 422
    assert "The module imports env.socket, which Flow does not provide with these types." in words(answer)


def test_the_api_lists_adds_and_removes(workspace, as_):
    headers = {"X-Flow-Workspace": "alices-team"}
    data = {"name": "tested", "file": SimpleUploadedFile("a.wasm", ECHO), "grant": "clock, random"}
    assert as_("editor").post("/api/modules/", data, headers=headers).status_code == 403
    data["file"] = SimpleUploadedFile("a.wasm", ECHO)
    added = as_("admin").post("/api/modules/", data, headers=headers)
    assert added.status_code == 201
    assert (added.json()["ref"], added.json()["granted"]) == (ref(ECHO), ["clock", "random"])
    listed = as_("viewer").get("/api/modules/", headers=headers).json()["results"]
    assert listed == [added.json()]
    path = f"/api/modules/tested/{added.json()['sha256'][:12]}/"
    assert as_("viewer").delete(path, headers=headers).status_code == 403
    assert as_("admin").delete(path, headers=headers).status_code == 204


# --- the form -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [False, True])
def test_the_form_of_a_transform_offers_the_modules(connected, as_, person, add, document, customized, stored):
    from flowapp.pipelines.drafts import open_draft, replace_text

    if stored:
        add()
    pipeline = save_version(connected, json.dumps(document())).pipeline
    replace_text(open_draft(pipeline, person("editor")), customized())
    panel = f"/w/alices-team/pipelines/{pipeline.slug}/panel/"
    page = as_("editor").get(panel, {"tab": "visual", "node": "shape"}).content.decode()
    assert (f'<option value="{ref(ECHO)}" selected' in page) or not stored
    assert ("No modules yet: an admin adds them" in page) == (not stored)
    for words_of_field in ("Input columns", "Columns to compute", "Config", "Access"):
        assert words_of_field in page
