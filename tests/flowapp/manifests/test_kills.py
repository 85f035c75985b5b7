"""A process that is killed while it applies leaves whole steps, and the next apply does the rest."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowapp.connections.models import Connection
from flowapp.connections.services import resolve
from flowapp.manifests.folders import write_folder
from flowapp.manifests.models import AppliedConnection, AppliedPipeline
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.pipelines.services import save_version, set_archived
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SCRIPT = """
import os, signal, sys
import django; django.setup()
from pathlib import Path
from flowapp.accounts.selectors import get_workspace
from flowapp.manifests import applying
from flowapp.manifests.folders import read_folder
from flowapp.manifests.planning import make_plan, parse_project
from flowapp.manifests.proposals import apply_project

folder, workspace, place = Path(sys.argv[1]), get_workspace(sys.argv[2]), sys.argv[3]

def kill_at(name):
    if name == place:
        os.kill(os.getpid(), signal.SIGKILL)

record = applying._Apply._record
applying._Apply._record = lambda self, step: (kill_at("in the transaction"), record(self, step))
planned = make_plan(workspace, parse_project(workspace, read_folder(folder)), os.environ)
report = lambda step: kill_at(step.partition(" ")[0])
apply_project(planned, os.environ, applying.Actor(), applying.Options(force=True, yes=True), report)
"""


def kill(folder: Path, project: ProjectFiles, environment: dict[str, str], place: str) -> bool:
    """Apply in a process that is killed in its first step, or right after it. Whether there was a step."""
    command = [sys.executable, "-c", SCRIPT, str(folder), project.workspace.slug, place]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def states_agree() -> bool:
    """Whether each record names a version that there is, with the content that it names."""
    for record in AppliedPipeline.objects.filter(removed_at=None):
        version = PipelineVersion.objects.get(pipeline__slug=record.slug, number=record.version_number)
        if version.sha256 != record.document_hash:
            return False
    return True


def test_killed_at_every_step_it_converges(
    project: ProjectFiles, tmp_path: Path, process_environment: dict[str, str]
) -> None:
    """The project has a change of every kind: new, changed, drifted, archived in the browser, removed."""
    for slug in ("changed", "drifted", "archived", "removed"):
        project.files[f"pipelines/{slug}.json"] = numbers(slug, project.schema)
    project.apply()
    save_version(project.workspace, numbers("drifted", project.schema, onTypeMismatch="skip"))
    set_archived(Pipeline.objects.get(slug="archived"), True)
    del project.files["pipelines/removed.json"]
    project.files["pipelines/changed.json"] = numbers("changed", project.schema, onTypeMismatch="null")
    project.files["pipelines/fresh.json"] = numbers("fresh", project.schema)
    write_folder(tmp_path, project.files)
    environment = {**process_environment, PASSWORD: project.environment[PASSWORD]}

    steps = 0
    while kill(tmp_path, project, environment, "in the transaction"):
        assert states_agree()
        assert kill(tmp_path, project, environment, "after")
        assert states_agree()
        steps += 1

    assert steps == 5
    assert states_agree()
    assert project.plan().is_empty
    newest = {p.slug: p.versions.get(number=p.latest_number).document for p in Pipeline.objects.all()}
    assert json.loads(newest["changed"])["nodes"][1]["onTypeMismatch"] == "null"
    assert "onTypeMismatch" not in newest["drifted"]
    assert Pipeline.objects.get(slug="archived").archived_at is None
    assert Pipeline.objects.get(slug="removed").archived_at is not None
    assert Pipeline.objects.get(slug="fresh").latest_number == 1


def connection_of(project: ProjectFiles, name: str, database: str) -> str:
    """Return the table of `flow.toml` for a further connection, with the server and the password of `warehouse`."""
    declared = project.files["flow.toml"].partition("[connections.warehouse]")[2].partition("\n[")[0]
    lines = [f'database = "{database}"' if line.startswith("database") else line for line in declared.splitlines()]
    return "\n".join([f"\n[connections.{name}]", *lines, ""])


def test_killed_between_connections_and_pipelines_it_converges(
    project: ProjectFiles, tmp_path: Path, process_environment: dict[str, str]
) -> None:
    """The project has a new, a changed and a removed connection, and a pipeline that needs the new one."""
    usual = project.files["flow.toml"]
    project.files["flow.toml"] = usual + connection_of(project, "moved", "old") + connection_of(project, "gone", "old")
    project.apply()
    project.files["flow.toml"] = usual + connection_of(project, "moved", "new") + connection_of(project, "fresh", "new")
    needs_fresh = numbers("needs", project.schema).replace('"connection": "warehouse"', '"connection": "fresh"')
    project.files["pipelines/needs.json"] = needs_fresh
    write_folder(tmp_path, project.files)
    environment = {**process_environment, PASSWORD: project.environment[PASSWORD]}

    steps = 0
    while kill(tmp_path, project, environment, "in the transaction"):
        assert kill(tmp_path, project, environment, "after")
        steps += 1
        # A pipeline is saved only after the connection that it needs, and a record only with its connection.
        names = set(Connection.objects.values_list("name", flat=True))
        assert "fresh" in names or not Pipeline.objects.filter(slug="needs").exists()
        assert set(AppliedConnection.objects.values_list("name", flat=True)) <= names

    assert steps == 4
    assert project.plan().is_empty
    stored = {connection.name: resolve(connection) for connection in Connection.objects.all()}
    assert (set(stored), stored["moved"].database) == ({"warehouse", "moved", "fresh"}, "new")
    assert {one.password for one in stored.values()} == {project.environment[PASSWORD]}
    assert Pipeline.objects.get(slug="needs").latest_number == 1
