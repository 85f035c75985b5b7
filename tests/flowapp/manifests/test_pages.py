"""The Plan pages: their content, and which roles may propose, approve, apply, discard and revert."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from flowapp.manifests.applying import Actor
from flowapp.manifests.folders import write_folder
from flowapp.manifests.models import Proposal
from flowapp.manifests.proposals import approve, discard
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from ir.errors import FlowError
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

pytestmark = pytest.mark.django_db
ROOT = "/w/alices-team/plan/"


@pytest.fixture
def people(workspace, monkeypatch: pytest.MonkeyPatch, settings, project: ProjectFiles) -> Callable[[str], Client]:
    """Clients of members by role. The server may use the password of the warehouse."""
    from flowapp.accounts.services import add_member

    settings.PROJECT_ENV = [PASSWORD]
    monkeypatch.setenv(PASSWORD, project.environment[PASSWORD])

    def client(role: str) -> Client:
        made = Client()
        made.force_login(add_member(workspace, f"{role}@example.com", role).user)
        return made

    return client


def upload(client: Client, project: ProjectFiles) -> HttpResponse:
    files = []
    for name, text in project.files.items():
        file = io.BytesIO(text.encode())
        file.name = name.rpartition("/")[2]
        files.append(file)
    return client.post(f"{ROOT}upload/", {"files": files})


def act(client: Client, action: str, **data: str) -> HttpResponse:
    """Press one of the buttons of the page, of the plan that it shows now unless `fingerprint` is another one."""
    proposal = Proposal.objects.latest("proposed_at")
    if action in ("approve", "apply") and "fingerprint" not in data:
        data["fingerprint"] = shown_plan(client)
    return client.post(reverse(f"manifests:{action}", args=["alices-team", proposal.pk]), data)


def shown_plan(client: Client) -> str:
    proposal = Proposal.objects.latest("proposed_at")
    page = client.get(reverse("manifests:detail", args=["alices-team", proposal.pk]))
    return str(page.context["plan"].fingerprint)


def state() -> str:
    return Proposal.objects.latest("proposed_at").state


def test_a_viewer_sees_no_plan(people) -> None:
    assert people("viewer").get(ROOT).status_code == 403


def test_a_plan_is_proposed_by_an_editor_and_approved_and_applied_by_an_admin(people, project: ProjectFiles) -> None:
    editor, admin = people("editor"), people("admin")
    shown = editor.get(upload(editor, project).url).content.decode()
    assert "shop-orders" in shown
    assert "An admin of the workspace can approve" in shown
    assert act(editor, "approve").status_code == 403
    assert act(admin, "approve").status_code == 302
    assert state() == "approved"
    assert not Pipeline.objects.exists()
    act(admin, "apply")
    assert state() == "applied"
    assert project.plan().is_empty
    page = admin.get(ROOT).content.decode()
    assert "editor@example.com" in page
    assert "admin@example.com" in page


def test_an_editor_applies_changes_of_pipelines(people, project: ProjectFiles) -> None:
    project.apply()
    project.edit("flow.toml", "every 15m", "every 30m")
    editor = people("editor")
    upload(editor, project)
    act(editor, "approve")
    act(editor, "apply")
    assert Pipeline.objects.get(slug="shop-orders").schedule == {"kind": "every", "interval": "30m"}


def test_a_plan_is_not_applied_before_it_is_approved(people, project: ProjectFiles) -> None:
    admin = people("admin")
    upload(admin, project)
    assert act(admin, "apply").status_code == 409


def test_a_workspace_that_changed_since_the_approval_needs_another_one(people, project: ProjectFiles) -> None:
    admin = people("admin")
    project.apply()
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    detail = upload(admin, project).url
    act(admin, "approve")
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    assert act(admin, "apply").status_code == 409
    assert "has changed since this plan was approved" in admin.get(detail).content.decode()


@pytest.mark.parametrize("action", ["approve", "apply"])
def test_a_plan_that_changed_since_the_page_was_loaded_is_refused(people, project: ProjectFiles, action: str) -> None:
    admin = people("admin")
    project.apply()
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    upload(admin, project)
    seen = shown_plan(admin)
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    assert act(admin, action, fingerprint=seen).status_code == 409
    assert state() == "proposed"


def test_a_discarded_plan_is_not_approved_by_a_user_who_saw_it_open(people, project: ProjectFiles) -> None:
    upload(people("admin"), project)
    found = Proposal.objects.latest("proposed_at")
    plan = project.plan()
    discard(Proposal.objects.get(pk=found.pk), Actor())
    with pytest.raises(FlowError, match="discarded"):
        approve(found, plan, Actor())
    assert state() == "discarded"


def test_a_revert_names_pipelines_that_changed_since_and_claims_nothing_else(people, project: ProjectFiles) -> None:
    admin = people("admin")
    upload(admin, project)
    act(admin, "approve")
    act(admin, "apply")
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    page = admin.get(act(admin, "revert").url).content.decode()
    assert "Changed since and not reverted: numbers." in page
    assert "as they were before" not in page


def test_a_revert_leaves_a_pipeline_that_was_deleted_and_created_again(people, project: ProjectFiles) -> None:
    admin = people("admin")
    upload(admin, project)
    act(admin, "approve")
    act(admin, "apply")
    delete_pipeline(Pipeline.objects.get(slug="numbers"))
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    act(admin, "revert")
    assert Pipeline.objects.get(slug="numbers").archived_at is None


def test_a_revert_brings_back_the_versions_before(people, project: ProjectFiles) -> None:
    admin = people("admin")
    project.apply()
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    project.files["pipelines/more.json"] = numbers("more", project.schema)
    upload(admin, project)
    act(admin, "approve")
    act(admin, "apply")
    act(admin, "revert")
    assert state() == "reverted"
    numbers_now = Pipeline.objects.get(slug="numbers")
    assert numbers_now.latest_number == 3
    assert "*.csv" in numbers_now.versions.get(number=3).document
    assert Pipeline.objects.get(slug="more").archived_at is not None


def test_warnings_of_the_project_are_shown_with_file_and_line(people, project: ProjectFiles) -> None:
    project.files["pipelines/numbers.json"] = numbers("numbers", project.schema, upsertKey=["id"])
    (warning,) = project.plan().warnings
    editor = people("editor")
    page = editor.get(upload(editor, project).url).content.decode()
    assert f"numbers.json:{warning['line']}:" in page
    assert page.count("target.field_unused") == 1


def test_a_discarded_plan_cannot_be_approved(people, project: ProjectFiles) -> None:
    admin = people("admin")
    upload(admin, project)
    act(admin, "discard")
    assert act(admin, "approve").status_code == 409


def test_errors_of_an_upload_are_shown_with_file_and_line(people, project: ProjectFiles) -> None:
    project.files["pipelines/bad.json"] = "{"
    response = upload(people("editor"), project)
    assert response.status_code == 422
    assert "pipelines/bad.json:1:2" in response.content.decode()


def test_an_open_plan_that_became_invalid_says_why_and_can_be_discarded(people, project: ProjectFiles) -> None:
    """As after an update to a release that refuses a field."""
    admin = people("admin")
    address = upload(admin, project).url
    Proposal.objects.update(files={**project.files, "pipelines/numbers.json": "{"})
    page = admin.get(address).content.decode()
    assert "pipelines/numbers.json:1:2" in page
    assert "Approve" not in page
    act(admin, "discard")
    assert state() == "discarded"


def test_two_uploaded_files_of_one_name_are_refused(people, project: ProjectFiles) -> None:
    files = [io.BytesIO(project.files["pipelines/numbers.json"].encode()) for _ in range(2)]
    for file in files:
        file.name = "numbers.json"
    response = people("editor").post(f"{ROOT}upload/", {"files": files})
    assert "Several uploaded files have the name pipelines/numbers.json." in response.content.decode()


def test_the_folder_of_the_server_is_planned_in_its_workspace_only(
    people, project: ProjectFiles, settings, tmp_path: Path
) -> None:
    write_folder(tmp_path, project.files)
    settings.PROJECT, settings.FLOW_WORKSPACE = str(tmp_path), "alices-team"
    editor = people("editor")
    assert editor.post(f"{ROOT}folder/").status_code == 302
    settings.FLOW_WORKSPACE = "another"
    assert editor.post(f"{ROOT}folder/").status_code == 422


def test_a_variable_that_the_server_does_not_list_is_not_read(people, project: ProjectFiles, settings) -> None:
    settings.PROJECT_ENV = []
    admin = people("admin")
    shown = admin.get(upload(admin, project).url).content.decode()
    assert "connection.secret_missing" in shown
    act(admin, "approve")
    act(admin, "apply")
    assert project.actions()["warehouse"] == "new"


def test_the_diff_shows_both_sides(people, project: ProjectFiles) -> None:
    project.apply()
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    admin = people("admin")
    upload(admin, project)
    proposal = Proposal.objects.latest("proposed_at")
    shown = admin.get(f"{ROOT}{proposal.pk}/diff/numbers/").content.decode()
    assert "*.csv" in shown
    assert "*.tsv" in shown


def test_a_proposal_of_another_workspace_is_unknown(people, project: ProjectFiles) -> None:
    from flowapp.accounts.models import Workspace

    admin = people("admin")
    upload(admin, project)
    other = Workspace.objects.create(slug="others")
    Proposal.objects.update(workspace=other)
    assert act(admin, "approve", fingerprint="").status_code == 404
