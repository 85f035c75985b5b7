"""Files by the API."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from flowapp.accounts.services import add_token
from tests.flowapp.files.test_pages import root, run, unit

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}
__all__ = ["root", "run"]


def test_files_are_listed_and_narrowed(as_, run):
    found, client = unit(run), as_("viewer")

    [reported] = client.get("/api/files/", headers=HERE).json()["results"]
    assert (reported["id"], reported["state"], reported["run"]) == (str(found.pk), "committed", str(run.pk))
    assert client.get("/api/files/?state=failed", headers=HERE).json()["results"] == []
    assert client.get("/api/files/?state=nonsense", headers=HERE).status_code == 400


def test_a_program_uploads_with_a_token_alone(client, workspace, person, root):
    key, _ = add_token(workspace, "loader", "editor", days=1, created_by=person("admin"))
    data = {"folder": "in", "file": SimpleUploadedFile("a.csv", b"id\n1\n")}
    answer = client.post("/api/files/upload/", data, headers={"Authorization": f"Token {key}"})

    assert (answer.status_code, answer.json()) == (201, {"path": "in/a.csv"})
    assert (root / "in/a.csv").read_bytes() == b"id\n1\n"


def test_too_large_an_upload_is_a_problem_of_its_own(as_, workspace, root, settings):
    settings.UPLOAD_BYTES = 1000
    data = {"folder": "in", "file": SimpleUploadedFile("a.csv", b"x" * 2000)}
    answer = as_("editor").post("/api/files/upload/", data, headers=HERE)

    assert (answer.status_code, answer.json()["code"]) == (413, "upload.too_large")
    assert not root.exists()


def test_a_file_is_loaded_again_with_a_reason(as_, run):
    address, client = f"/api/files/{unit(run).pk}/load-again/", as_("editor")
    kind = {"content_type": "application/json", "headers": HERE}

    assert client.post(address, {}, **kind).status_code == 400
    reported = client.post(address, {"reason": "Corrected."}, **kind).json()
    assert (reported["loadAgain"], reported["loadAgainReason"]) == (True, "Corrected.")


def test_a_failed_file_is_excluded_with_a_reason(as_, run):
    address, client = f"/api/files/{unit(run, state='failed').pk}/leave-out/", as_("editor")
    kind = {"content_type": "application/json", "headers": HERE}

    assert client.post(address, {}, **kind).status_code == 400
    assert client.post(address, {"reason": "Never needed."}, **kind).json()["state"] == "skipped"


def test_files_of_other_workspaces_are_unknown(as_, run):
    address, theirs = f"/api/files/{unit(run).pk}/load-again/", {"X-Flow-Workspace": "bobs-team"}
    client = as_("stranger")

    answer = client.post(address, {"reason": "x"}, content_type="application/json", headers=theirs)
    assert (answer.status_code, answer.json()["code"]) == (404, "file.unknown")
    assert client.get("/api/files/", headers=theirs).json()["results"] == []
