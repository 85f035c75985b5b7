"""Actions on the files that are selected in the list."""

from __future__ import annotations

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from flowapp.uploads.models import Upload
from tests.flowapp.files.test_pages import FILES, root, send, unit
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
__all__ = ["root"]
SELECTED = f"{FILES}selected/"


@pytest.fixture
def run(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


@pytest.fixture
def loaded(run) -> LoadUnit:
    return unit(run)


@pytest.fixture
def failed(run) -> LoadUnit:
    return unit(run, "in/b.csv", UnitState.FAILED)


@pytest.fixture
def upload(as_, root) -> Upload:
    send(as_("editor"), "in")
    return Upload.objects.get()


@pytest.fixture
def others(workspace) -> tuple[LoadUnit, Upload]:
    """A file and an upload of another workspace."""
    from flowapp.pipelines.models import Pipeline

    other = ensure_workspace("bobs-team")
    pipeline = Pipeline.objects.create(workspace=other, slug="theirs")
    found = LoadUnit.objects.create(
        workspace=other,
        pipeline=pipeline,
        node="files",
        sha256="f" * 64,
        name="in/theirs.csv",
        size=1,
        state=UnitState.FAILED,
        changed_at="2026-01-01T00:00:00Z",
    )
    return found, Upload.objects.create(workspace=other, path="in/new.csv", sha256="e" * 64, size=1)


def ask(client, action, *files):
    return client.get(SELECTED, {"action": action, "file": [file.pk for file in files]})


def act(client, action, *files, reason="wrong"):
    values = {"action": action, "file": [file.pk for file in files], "reason": reason}
    return client.post(SELECTED, values, follow=True)


def test_a_page_says_first_what_becomes_of_each_file(as_, loaded, failed, upload):
    client = as_("editor")

    assert "in/a.csv 1,234 The next run of numbers reads it again." in words(ask(client, "again", loaded, upload))
    assert "in/a.csv 5 Nothing. No run has read it yet" in words(ask(client, "again", loaded, upload))
    assert "in/b.csv 1,234 It is not loaded." in words(ask(client, "skip", loaded, failed))
    assert "Skip: 1 file" in words(ask(client, "skip", loaded, failed))
    assert "in/a.csv 5 It is deleted and cannot be restored." in words(ask(client, "delete", upload))
    loaded.refresh_from_db()
    assert loaded.forgotten_at is None
    assert Upload.objects.exists()


def test_all_selected_files_are_loaded_again(as_, loaded, failed):
    assert "2 files will be loaded again." in words(act(as_("editor"), "again", loaded, failed))
    assert set(LoadUnit.objects.values_list("forgotten_reason", flat=True)) == {"wrong"}


def test_a_refusal_of_one_file_does_not_keep_another_from_being_skipped(as_, loaded, failed):
    answer = words(act(as_("editor"), "skip", loaded, failed))

    assert "1 file skipped." in answer
    assert "in/a.csv is committed, not failed." in answer
    assert set(LoadUnit.objects.values_list("state", flat=True)) == {"committed", "skipped"}


def test_uploads_are_deleted_with_their_files(as_, upload, root):
    assert "1 file deleted." in words(act(as_("editor"), "delete", upload, reason=""))
    assert not (root / "in/a.csv").exists()


def test_a_file_that_a_pipeline_has_read_is_not_deleted(as_, loaded):
    assert "cannot be deleted" in words(act(as_("editor"), "delete", loaded))
    assert LoadUnit.objects.exists()


def test_an_action_needs_a_reason(as_, loaded):
    assert act(as_("editor"), "again", loaded, reason=" ").status_code == 422
    assert not LoadUnit.objects.exclude(forgotten_at=None).exists()


@pytest.mark.parametrize("action", ["again", "skip", "delete"])
def test_files_of_another_workspace_are_refused(as_, others, action):
    client = as_("editor")

    for answer in (ask(client, action, *others), act(client, action, *others)):
        assert answer.status_code == 404
        assert "The selected files are not here." in words(answer)
        assert "theirs" not in words(answer)
    assert LoadUnit.objects.get(pk=others[0].pk).forgotten_at is None
    assert (LoadUnit.objects.get(pk=others[0].pk).state, Upload.objects.count()) == (UnitState.FAILED, 1)


def test_files_of_another_workspace_among_others_are_left_out_and_counted(as_, loaded, others):
    answer = words(act(as_("editor"), "again", loaded, *others))

    assert "1 file will be loaded again." in answer
    assert "2 selected files are not here." in answer
    assert LoadUnit.objects.get(pk=others[0].pk).forgotten_at is None


def test_a_viewer_selects_no_file(as_, loaded):
    client = as_("viewer")

    assert "Select all files" not in client.get(FILES).content.decode()
    assert ask(client, "again", loaded).status_code == 403
    assert act(client, "again", loaded).status_code == 403
