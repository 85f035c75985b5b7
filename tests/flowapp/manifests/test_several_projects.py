"""Projects in one workspace: each removes and overwrites only what is its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowapp.connections.models import Connection as Stored
from flowapp.manifests.exporting import export_project, record_export
from flowapp.manifests.models import AppliedConnection, AppliedPipeline
from flowapp.pipelines.models import Pipeline
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(project: ProjectFiles) -> ProjectFiles:
    """Another project, with a pipeline of its own over the same connection. The first one is applied."""
    head = project.files["flow.toml"].partition("[defaults")[0]
    files = {
        "flow.toml": head.replace('name = "shop"', 'name = "finance"'),
        "pipelines/invoices.json": numbers("invoices", project.schema),
    }
    project.apply()
    return replace(project, files=files)


def owners() -> dict[str, str]:
    return dict(AppliedPipeline.objects.filter(removed_at=None).values_list("slug", "project"))


def test_a_second_project_leaves_the_pipelines_of_the_first_alone(project: ProjectFiles, other: ProjectFiles) -> None:
    assert other.actions() == {"warehouse": "adopted", "invoices": "new"}
    other.apply(yes=True, force=True)
    assert other.plan().is_empty
    assert project.plan().is_empty
    assert other.plan().others == ["numbers", "shop-customers", "shop-orders"]
    assert owners() == dict.fromkeys(other.plan().others, "shop") | {"invoices": "finance"}


def test_a_pipeline_of_another_project_is_overwritten_only_with_force(
    project: ProjectFiles, other: ProjectFiles
) -> None:
    other.files["pipelines/numbers.json"] = numbers("numbers", project.schema, onTypeMismatch="skip")
    change = other.change("numbers")
    assert (change.drift and change.drift.words) == ["It belongs to project shop."]
    assert [(one.id, one.code) for one in other.apply().refused] == [("numbers", "plan.other_project")]

    other.apply(force=True)
    assert owners()["numbers"] == "finance"
    assert other.plan().is_empty
    assert project.actions() == {"numbers": "drifted"}
    assert [one.code for one in project.apply().refused] == ["plan.other_project"]


def test_the_same_pipeline_in_two_projects_does_not_change_hands_by_itself(
    project: ProjectFiles, other: ProjectFiles
) -> None:
    other.files["pipelines/numbers.json"] = project.files["pipelines/numbers.json"]
    assert [one.code for one in other.apply().refused] == ["plan.other_project"]
    assert owners()["numbers"] == "shop"
    assert project.plan().is_empty


def test_with_force_a_project_that_is_renamed_has_its_pipelines_again(project: ProjectFiles) -> None:
    project.apply()
    project.edit("flow.toml", 'name = "shop"', 'name = "store"')
    project.apply(force=True)
    assert project.plan().is_empty
    assert set(owners().values()) == {"store"}
    assert all(pipeline.latest_number == 1 for pipeline in Pipeline.objects.all())


def test_what_one_project_has_archived_another_may_bring_back(project: ProjectFiles, other: ProjectFiles) -> None:
    moved = project.files.pop("pipelines/numbers.json")
    project.apply(yes=True)
    other.files["pipelines/numbers.json"] = moved
    assert other.change("numbers").action == "restored"
    other.apply()
    assert owners()["numbers"] == "finance"
    assert project.plan().is_empty


def test_a_connection_is_removed_with_the_last_project_that_declares_it(
    project: ProjectFiles, other: ProjectFiles
) -> None:
    other.apply()
    project.files = {"flow.toml": '[project]\nname = "shop"\n'}
    project.apply(yes=True)
    assert Stored.objects.filter(name="warehouse").exists()
    assert list(AppliedConnection.objects.values_list("project", flat=True)) == ["finance"]
    assert project.plan().is_empty
    assert other.plan().is_empty
    other.files = {"flow.toml": '[project]\nname = "finance"\n'}
    other.apply(yes=True)
    assert not Stored.objects.exists()


@pytest.mark.parametrize("what", ["a field", "a secret"])
def test_a_connection_with_other_values_is_changed_only_with_force(
    what: str, project: ProjectFiles, other: ProjectFiles
) -> None:
    if what == "a field":
        other.edit("flow.toml", "[connections.warehouse]", '[connections.warehouse]\nsslmode = "allow"')
    else:
        other.environment = {PASSWORD: "another"}
    assert [one.code for one in other.apply().refused] == ["plan.other_project"]
    assert project.plan().is_empty


def test_an_export_leaves_the_pipelines_of_other_projects_out(project: ProjectFiles, other: ProjectFiles) -> None:
    other.apply()
    exported = export_project(other.workspace, other.files)
    assert exported.texts == {}
    record_export(other.workspace, exported)
    assert project.plan().is_empty
    assert other.plan().is_empty


def test_an_export_without_files_writes_the_only_project_of_the_workspace(project: ProjectFiles) -> None:
    project.apply()
    project.files = {name: text or "" for name, text in export_project(project.workspace, {}).texts.items()}
    assert 'name = "shop"' in project.files["flow.toml"]
    assert project.plan().summary["unchanged"] == 3
