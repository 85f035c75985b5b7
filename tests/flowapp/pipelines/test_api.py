"""The API of pipelines: documents with their versions, drafts, the parser and the schema."""

from __future__ import annotations

import json

import pytest

from flowapp.accounts.services import add_token
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from ir.schema import schema_document

pytestmark = pytest.mark.django_db
BASE = "/api/pipelines/"


@pytest.fixture
def send(web):
    def call(method, path="", body=None, content_type="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body)
        return web.generic(method, BASE + path, data, content_type, headers=headers)

    return call


def test_pipelines_are_made_listed_read_and_deleted(send, connected, document):
    made = send("POST", body={"document": document(), "message": "First"})
    assert (made.status_code, made["ETag"], made.json()["message"]) == (201, '"1"', "First")
    assert [row["id"] for row in send("GET").json()["results"]] == ["numbers"]
    assert send("GET", "numbers/").json()["version"] == 1
    assert send("DELETE", "numbers/").status_code == 204
    assert not Pipeline.objects.exists()


def test_an_id_alone_makes_a_pipeline_for_a_first_draft(send, workspace):
    assert send("POST", body={"id": "fresh", "name": "Fresh"}).status_code == 201
    assert send("GET", "fresh/draft/").json()["document"]["id"] == "fresh"
    assert send("POST", body={"id": "fresh"}).status_code == 409
    assert send("POST", body={"id": "No id"}).status_code == 422


def test_a_faulty_document_is_a_problem_with_all_diagnostics(send, connected, document):
    response = send("POST", body={"document": document(nodes=[])})
    assert response.status_code == 422
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["diagnostics"][0]["path"] == "/nodes"


def test_the_document_carries_its_version_as_tag(send, pipeline, document):
    response = send("GET", "numbers/ir/")
    assert (response["ETag"], response.json()) == ('"1"', document())
    assert send("GET", f"numbers/ir/?version={'9' * 5000}").status_code == 400


def test_a_document_is_put_on_the_version_that_it_was_made_from(send, pipeline, document):
    changed = document(metadata={"name": "Mine"})
    assert send("PUT", "numbers/ir/", changed).status_code == 428
    assert send("PUT", "numbers/ir/", changed, **{"If-Match": "1"}).status_code == 400
    saved = send("PUT", "numbers/ir/", changed, **{"If-Match": '"1"'})
    assert (saved.status_code, saved["ETag"]) == (200, '"2"')
    refused = send("PUT", "numbers/ir/", document(), **{"If-Match": '"1"'})
    assert refused.status_code == 412
    problem = refused.json()
    assert json.loads(problem["current"]["document"]) == changed
    assert json.loads(problem["yours"]["document"]) == document()


def test_another_id_does_not_write_another_pipeline(send, pipeline, document):
    assert send("PUT", "numbers/ir/", document("other"), **{"If-Match": '"1"'}).status_code == 422


def test_versions_are_listed_newest_first_and_restored(send, pipeline, connected, document):
    save_version(connected, json.dumps(document(metadata={"name": "Two"})))
    assert [row["version"] for row in send("GET", "numbers/versions/").json()["results"]] == [2, 1]
    assert send("POST", "numbers/restore/", {"version": 1}).json()["version"] == 3
    assert send("POST", "numbers/restore/", {"version": 99}).status_code == 404
    assert send("POST", "numbers/restore/", {"version": "1"}).status_code == 400


def test_a_draft_is_patched_replaced_undone_and_saved(send, pipeline):
    patch = [{"op": "replace", "path": "/nodes/1/table", "value": "other"}]
    draft = send("PATCH", "numbers/draft/?label=Canvas", patch, "application/json-patch+json").json()
    assert (draft["document"]["nodes"][1]["table"], draft["changes"], draft["readOnly"]) == ("other", 1, False)
    assert draft["steps"][0]["label"] == "Canvas"
    broken = send("PUT", "numbers/draft/", {"text": "{", "position": draft["position"]}).json()
    assert (broken["document"], broken["lastGood"]["id"], broken["readOnly"]) == (None, "numbers", True)
    assert broken["diagnostics"][0]["line"] == 1
    stale = send("PUT", "numbers/draft/", {"text": "{}", "position": draft["position"]})
    assert stale.status_code == 409
    assert send("POST", "numbers/draft/undo/").json()["text"] == draft["text"]
    assert send("POST", "numbers/draft/redo/").json()["text"] == "{"
    send("POST", "numbers/draft/undo/")
    assert send("POST", "numbers/draft/save/", {"message": "Other"}).json()["version"] == 2


def test_a_patch_that_does_not_fit_changes_nothing(send, pipeline):
    response = send("PATCH", "numbers/draft/", [{"op": "remove", "path": "/x"}], "application/json-patch+json")
    assert (response.status_code, response.json()["code"]) == (422, "patch.refused")


def test_a_document_is_validated_without_being_saved(send, connected, document):
    nodes = document()["nodes"]
    nodes[1]["loadMode"] = "upsert"
    answer = send("POST", "validate/", {"document": document(nodes=nodes)}).json()
    assert answer["valid"] is False
    assert "upsert.key_required" in {d["code"] for d in answer["diagnostics"]}
    assert send("POST", "validate/", {"text": "{"}).json()["valid"] is False
    assert not Pipeline.objects.exists()


NO_OBJECTS = (b"{", b"[1]", b'"x"')
NO_TEXTS = (b'{"text": 1}', b'{"text": "\\u0000"}', b'{"text": "\\ud800"}')
TAKE_OBJECTS = ("", "validate/", "numbers/restore/", "numbers/draft/save/")
REFUSED = [
    *(("PUT", "numbers/draft/", body) for body in (*NO_OBJECTS, *NO_TEXTS)),
    *(("POST", path, body) for path in TAKE_OBJECTS for body in NO_OBJECTS),
    *(("POST", "numbers/draft/save/", body.replace(b"text", b"message")) for body in NO_TEXTS),
]


@pytest.mark.parametrize(("method", "path", "body"), REFUSED)
def test_bodies_that_make_no_sense_are_problems(send, pipeline, method, path, body):
    response = send(method, path, body)
    assert response.status_code in (400, 422)
    assert response["Content-Type"] == "application/problem+json"


def test_a_viewer_reads_and_asks_and_changes_nothing(sign_in, person, pipeline, document):
    client = sign_in(person("viewer"))
    assert client.get(BASE + "numbers/draft/").json()["readOnly"] is True
    assert client.post(BASE + "validate/", {"document": document()}, "application/json").status_code == 200
    for method, path in [
        ("PUT", "draft/"),
        ("PATCH", "draft/"),
        ("DELETE", ""),
        ("PUT", "ir/"),
        ("POST", "restore/"),
        ("POST", "draft/undo/"),
        ("POST", "draft/redo/"),
        ("POST", "draft/save/"),
    ]:
        assert client.generic(method, f"{BASE}numbers/{path}", "{}", "application/json").status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "draft/", {"text": "{}"}),
        ("PATCH", "draft/", {"patch": []}),
        ("DELETE", "draft/", None),
        ("POST", "draft/undo/", None),
        ("POST", "draft/redo/", None),
        ("POST", "draft/save/", {}),
    ],
)
def test_an_edit_that_names_another_revision_of_the_draft_is_refused(send, pipeline, method, path, body):
    old = send("GET", "numbers/draft/")["ETag"]
    now = send("PATCH", "numbers/draft/", [{"op": "add", "path": "/metadata", "value": {"name": "N"}}])
    assert now["ETag"] == f'"{now.json()["revision"]}"' != old
    refused = send(method, f"numbers/{path}", body, **{"If-Match": old})
    assert (refused.status_code, refused.json()["code"]) == (409, "draft.conflict")
    assert send(method, f"numbers/{path}", body, **{"If-Match": now["ETag"]}).status_code == 200
    assert send(method, f"numbers/{path}", body, **{"If-Match": "3"}).json()["code"] == "draft.revision_malformed"


def test_a_token_uses_the_draft_of_its_creator_if_it_has_one(client, connected, pipeline, editor):
    own, _ = add_token(connected, "own", "editor", days=1, created_by=editor)
    nobodys, _ = add_token(connected, "nobodys", "editor", days=1)
    patch = json.dumps([{"op": "replace", "path": "/nodes/1/table", "value": "x"}])
    answers = [
        client.patch(
            f"{BASE}numbers/draft/", patch, "application/json-patch+json", headers={"Authorization": f"Token {key}"}
        ).status_code
        for key in (own, nobodys)
    ]
    assert answers == [200, 422]


def test_the_schema_is_served_to_everybody(client):
    response = client.get("/api/schema/pipeline.json")
    assert response.json() == schema_document()


def test_the_openapi_document_describes_these_routes(client, db):
    paths = client.get("/api/schema/", headers={"Accept": "application/json"}).json()["paths"]
    assert {"/api/pipelines/", "/api/pipelines/{slug}/draft/", "/api/pipelines/{slug}/ir/"} <= paths.keys()
