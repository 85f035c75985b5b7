"""Applying is idempotent and convergent, and overwrites nothing without a person's word."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from flowapp.clock import from_now
from flowapp.connections.models import Connection as Stored
from flowapp.manifests.models import AppliedPipeline, Proposal, ProposalState
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.services import save_version, set_archived
from flowapp.processes.retention import DAY, delete_old_rows
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

pytestmark = pytest.mark.django_db


def documents() -> dict[str, Any]:
    newest = {p.slug: p.versions.get(number=p.latest_number).document for p in Pipeline.objects.all()}
    return {slug: json.loads(text) for slug, text in newest.items()}


def test_apply_makes_what_the_project_says(project: ProjectFiles) -> None:
    applied = project.apply()
    assert [(step["id"], step["action"]) for step in applied.steps] == [
        ("warehouse", "new"),
        ("shop-orders", "new"),
        ("shop-customers", "new"),
        ("numbers", "new"),
    ]
    assert applied.refused == applied.failed == []
    assert Pipeline.objects.get(slug="shop-orders").schedule == {"kind": "every", "interval": "15m"}
    assert documents()["numbers"]["nodes"][1]["loadMode"] == "append"


def test_apply_after_apply_changes_nothing(project: ProjectFiles) -> None:
    project.apply()
    before = list(PipelineVersion.objects.values_list("pk").order_by("pk"))
    assert project.plan().is_empty
    assert project.apply().steps == []
    assert list(PipelineVersion.objects.values_list("pk").order_by("pk")) == before
    assert Proposal.objects.count() == 1


def test_apply_of_one_pipeline_leaves_the_others(project: ProjectFiles) -> None:
    project.apply(only="numbers")
    assert set(Pipeline.objects.values_list("slug", flat=True)) == {"numbers"}
    assert Stored.objects.filter(name="warehouse").exists()


def test_apply_of_one_pipeline_adds_the_webhooks_that_its_hooks_name(project: ProjectFiles) -> None:
    project.files["flow.toml"] += '\n[connections.notify]\nkind = "webhook"\nurl = { env = "NOTIFY_URL" }\n'
    project.environment["NOTIFY_URL"] = "https://example.com/loaded"
    hook = {"type": "webhook", "connection": "notify"}
    project.files["pipelines/numbers.json"] = numbers("numbers", project.schema, postHook=[hook])
    applied = project.apply(only="numbers")
    assert applied.failed == []
    assert {(step["kind"], step["id"]) for step in applied.steps} == {
        ("connection", "warehouse"),
        ("connection", "notify"),
        ("pipeline", "numbers"),
    }


def test_the_record_says_what_was_applied_from_which_file(project: ProjectFiles) -> None:
    project.apply()
    record = AppliedPipeline.objects.get(slug="numbers")
    assert (record.version_number, record.file) == (1, "pipelines/numbers.json")


def test_plans_are_deleted_after_ninety_days(project: ProjectFiles) -> None:
    project.apply()
    Proposal.objects.update(proposed_at=from_now(-89 * DAY))
    assert delete_old_rows() == 0
    Proposal.objects.update(proposed_at=from_now(-91 * DAY))
    assert delete_old_rows() == 1
    assert project.plan().is_empty


class Killed(BaseException):
    """Like a kill, it is not caught."""


def killed_at(number: int) -> Callable[[str], None]:
    calls = iter(range(number + 1))

    def report(step: str) -> None:
        if next(calls) == number:
            raise Killed(step)

    return report


def test_an_apply_that_was_killed_at_any_step_converges(project: ProjectFiles) -> None:
    """Each round is killed one report later than the previous one, until a round completes."""
    for number in range(40):
        try:
            project.apply(report=killed_at(number % 3))
        except Killed:
            continue
        break
    assert project.plan().is_empty
    assert set(documents()) == {"shop-orders", "shop-customers", "numbers"}
    assert all(pipeline.latest_number == 1 for pipeline in Pipeline.objects.all())
    assert set(Proposal.objects.values_list("state", flat=True)) == {ProposalState.PARTIAL, ProposalState.APPLIED}


def test_drift_is_not_overwritten_without_force(project: ProjectFiles) -> None:
    project.apply()
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    applied = project.apply()
    assert [(refusal.id, refusal.code) for refusal in applied.refused] == [("numbers", "plan.drift")]
    assert documents()["numbers"]["nodes"][1]["onTypeMismatch"] == "skip"

    assert [step["id"] for step in project.apply(force=True).steps] == ["numbers"]
    assert "onTypeMismatch" not in documents()["numbers"]["nodes"][1]
    assert project.plan().is_empty


@pytest.mark.parametrize("act", [lambda p: set_archived(p, True), Pipeline.delete], ids=["archived", "deleted"])
def test_with_force_an_archived_or_deleted_pipeline_comes_back(project: ProjectFiles, act) -> None:
    project.apply()
    act(Pipeline.objects.get(slug="numbers"))
    assert [refusal.id for refusal in project.apply().refused] == ["numbers"]
    project.apply(force=True)
    assert Pipeline.objects.get(slug="numbers").archived_at is None
    assert project.plan().is_empty


def test_a_removed_pipeline_is_archived_only_with_yes(project: ProjectFiles) -> None:
    project.apply()
    del project.files["pipelines/numbers.json"]
    assert project.actions() == {"numbers": "removed"}
    assert [refusal.code for refusal in project.apply().refused] == ["plan.needs_yes"]
    project.apply(yes=True)
    pipeline = Pipeline.objects.get(slug="numbers")
    assert pipeline.archived_at is not None
    assert pipeline.versions.count() == 1
    assert project.plan().is_empty


def test_a_pipeline_that_is_declared_again_is_restored(project: ProjectFiles) -> None:
    project.apply()
    removed = project.files.pop("pipelines/numbers.json")
    project.apply(yes=True)
    project.files["pipelines/numbers.json"] = removed
    assert project.actions() == {"numbers": "restored"}
    project.apply()
    assert Pipeline.objects.get(slug="numbers").archived_at is None
    assert project.plan().is_empty


def test_a_connection_is_changed_in_place_and_removed_with_yes(project: ProjectFiles) -> None:
    project.apply()
    project.edit("flow.toml", "[connections.warehouse]", '[connections.warehouse]\nsslmode = "allow"')
    project.apply()
    assert Stored.objects.get(name="warehouse").sslmode == "allow"
    assert project.plan().is_empty


def test_a_connection_in_use_is_not_removed(project: ProjectFiles) -> None:
    project.apply()
    save_version(project.workspace, numbers("mine", project.schema))
    project.files = {"flow.toml": '[project]\nname = "shop"\n'}
    applied = project.apply(yes=True)
    assert [failure.code for failure in applied.failed] == ["connection.in_use"]
    assert Stored.objects.filter(name="warehouse").exists()


def test_a_failure_does_not_stop_the_others(project: ProjectFiles) -> None:
    project.edit("pipelines/numbers.json", '"warehouse"', '"elsewhere"')
    applied = project.apply()
    assert [failure.id for failure in applied.failed] == ["numbers"]
    assert len(applied.steps) == 3


def test_an_editor_applies_pipelines_but_no_connections(project: ProjectFiles) -> None:
    from flowapp.manifests.applying import Actor, Options
    from flowapp.manifests.proposals import apply_project

    applied = apply_project(project.planned(), project.environment, Actor(role="editor"), Options())
    assert [(refusal.id, refusal.code) for refusal in applied.refused] == [("warehouse", "role.too_low")]


def test_a_password_changes_with_the_environment(project: ProjectFiles) -> None:
    from flowapp.connections.services import resolve

    project.apply()
    project.environment[PASSWORD] = "another"
    project.apply()
    assert resolve(Stored.objects.get(name="warehouse")).password == "another"
    assert project.plan().is_empty
