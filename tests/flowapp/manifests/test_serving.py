"""A served project: files are applied when they change, and what people do in the browser is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from flowapp.alerts.models import Alert, AlertState
from flowapp.connections.models import Connection
from flowapp.manifests import serving
from flowapp.manifests.applying import Options
from flowapp.manifests.folders import folder_state, write_folder
from flowapp.manifests.models import Proposal, ServedProject
from flowapp.manifests.serving import ProjectServer, Served
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import restore_version, save_version
from tests.flowapp.manifests.conftest import ProjectFiles, numbers

pytestmark = pytest.mark.django_db
NUMBERS = "pipelines/numbers.json"


class Folder:
    """A project in a folder, and the servers of it."""

    def __init__(self, project: ProjectFiles, path: Path) -> None:
        self.project, self.path = project, path
        self.write()

    def write(self) -> None:
        write_folder(self.path, self.project.files)

    def server(self, **options: bool) -> ProjectServer:
        return ProjectServer(self.project.workspace, self.path, self.project.environment, Options(**options))

    def edit_in_browser(self) -> None:
        save_version(self.project.workspace, numbers("numbers", self.project.schema, onTypeMismatch="skip"))

    @property
    def mismatch(self) -> str | None:
        """What the newest version of `numbers` has at the place that the tests change."""
        pipeline = Pipeline.objects.get(slug="numbers")
        text = pipeline.versions.get(number=pipeline.latest_number).document
        return next((word for word in ("skip", "null") if f'"{word}"' in text), None)


@pytest.fixture
def folder(project: ProjectFiles, tmp_path: Path) -> Folder:
    return Folder(project, tmp_path)


def settle(server: ProjectServer) -> Served:
    """Look until the files are steady."""
    served = server.look() or server.look()
    assert served is not None
    return served


def review(server: ProjectServer) -> Served:
    """Look as when the time for it has come."""
    server._due = 0
    served = server.look()
    assert served is not None
    return served


def alerts() -> list[str]:
    return list(Alert.objects.exclude(state=AlertState.RESOLVED).values_list("message", flat=True))


def test_the_first_look_applies_the_project_and_the_next_has_nothing_to_do(folder: Folder) -> None:
    server = folder.server()
    assert settle(server).state == "applied"
    assert set(Pipeline.objects.values_list("slug", flat=True)) == {"numbers", "shop-orders", "shop-customers"}
    assert Proposal.objects.get().origin == "flow serve"
    assert server.look() is None
    assert review(server).applied.steps == []


def test_a_change_is_applied_once_the_files_are_steady(folder: Folder) -> None:
    server = folder.server()
    settle(server)
    folder.project.files[NUMBERS] = numbers("numbers", folder.project.schema, onTypeMismatch="null")
    folder.write()
    assert server.look() is None
    (folder.path / "pipelines/more.json").write_text(numbers("more", folder.project.schema))
    assert server.look() is None, "somebody is still writing"
    assert settle(server).state == "applied"
    assert folder.mismatch == "null"
    assert Pipeline.objects.filter(slug="more").exists()


def test_invalid_files_leave_what_was_applied_and_are_an_alert_until_they_are_corrected(folder: Folder) -> None:
    server = folder.server()
    settle(server)
    (folder.path / NUMBERS).write_text("{")
    served = settle(server)
    assert served.state == "invalid"
    assert alerts()[0].startswith(f"Project shop: {NUMBERS}:1:2: ")
    assert Pipeline.objects.get(slug="numbers").latest_number == 1
    folder.write()
    assert settle(server).state == "applied"
    assert alerts() == []


def test_a_change_in_the_browser_is_left_alone_and_is_an_alert(folder: Folder) -> None:
    server = folder.server()
    settle(server)
    folder.edit_in_browser()
    assert review(server).state == "refused"
    assert folder.mismatch == "skip"
    assert "pipeline numbers: It was changed in the browser" in alerts()[0]
    review(server)
    assert Alert.objects.get().count == 1, "the same trouble is one report"


def test_a_refused_plan_is_stored_again_only_after_something_has_changed(folder: Folder) -> None:
    server = folder.server()
    settle(server)
    folder.edit_in_browser()

    def stored() -> bool:
        with CaptureQueriesContext(connection) as seen:
            assert review(server).state == "refused"
        return any(Proposal._meta.db_table in one["sql"] for one in seen.captured_queries)

    assert [stored(), stored(), stored()] == [True, False, False]
    save_version(folder.project.workspace, numbers("numbers", folder.project.schema, onTypeMismatch="null"))
    assert [stored(), stored()] == [True, False]
    restore_version(Pipeline.objects.get(slug="numbers"), 1, role="admin")
    assert review(server).state == "applied"


def test_with_force_a_change_in_the_browser_is_overwritten(folder: Folder) -> None:
    server = folder.server(force=True)
    settle(server)
    folder.edit_in_browser()
    assert review(server).state == "applied"
    assert folder.mismatch is None


def test_a_file_that_is_gone_archives_its_pipeline_only_with_yes(folder: Folder) -> None:
    settle(folder.server())
    ServedProject.objects.all().delete()
    (folder.path / NUMBERS).unlink()
    assert settle(folder.server()).state == "refused"
    ServedProject.objects.all().delete()
    assert settle(folder.server(yes=True)).state == "applied"
    assert Pipeline.objects.get(slug="numbers").archived_at is not None


def test_of_two_servers_one_waits_until_the_other_ends(folder: Folder) -> None:
    one, other = folder.server(), folder.server()
    assert settle(one).state == "applied"
    assert settle(other).state == "waiting"
    one.close()
    assert review(other).state == "applied"
    assert review(one).state == "waiting"


def test_a_server_that_is_gone_is_replaced_when_its_lease_has_ended(folder: Folder) -> None:
    settle(folder.server())
    other = folder.server()
    assert settle(other).state == "waiting"
    ServedProject.objects.update(until="2000-01-01T00:00:00Z")
    assert review(other).state == "applied"


def test_a_server_that_loses_its_lease_makes_no_further_change(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True, True, False])  # at the start, before the first change and after it
    monkeypatch.setattr(serving, "hold_project", lambda *_: next(answers))
    monkeypatch.setattr(serving, "LEASE_SECONDS", 0)
    assert settle(folder.server()).state == "waiting"
    assert Connection.objects.count() == 1
    assert not Pipeline.objects.exists()


def test_a_folder_that_is_away_for_a_while_is_reported(folder: Folder) -> None:
    server = folder.server()
    settle(server)
    away = folder.path.with_name("away")
    folder.path.rename(away)
    served = settle(server)
    assert (served.state, served.error and served.error.code) == ("failed", "file.unreadable")
    away.rename(folder.path)
    assert settle(server).state == "applied"


def test_a_file_that_is_replaced_by_one_of_the_same_age_and_size_is_a_change(folder: Folder) -> None:
    path = folder.path / NUMBERS
    before, found = folder_state(folder.path), path.stat()
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(b"append", b"upsert"))
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.replace(path)
    assert folder_state(folder.path) != before


def test_files_that_are_no_manifests_are_ignored(folder: Folder) -> None:
    before = folder_state(folder.path)
    (folder.path / "README.md").write_text("Hello")
    (folder.path / "pipelines" / ".numbers.json.swp").write_text("")
    assert folder_state(folder.path) == before
