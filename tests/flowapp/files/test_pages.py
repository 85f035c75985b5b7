"""The Files page: known files, loading again, uploading."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import NodeRun, RuleCount, Run, Trigger
from flowapp.runs.services import queue_run
from flowapp.uploads.models import Upload
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
FILES = "/w/alices-team/files/"


@pytest.fixture
def root(settings, tmp_path) -> Path:
    """The workspace's folder of files."""
    settings.FILES_ROOT = tmp_path.resolve()
    return settings.FILES_ROOT / "alices-team"


@pytest.fixture
def run(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


def unit(run: Run, name: str = "in/a.csv", state: str = UnitState.COMMITTED, **changes) -> LoadUnit:
    return LoadUnit.objects.create(
        workspace=run.workspace,
        pipeline=run.pipeline,
        run=run,
        node="files",
        name=name,
        state=state,
        **{"sha256": name.encode().hex().ljust(64, "0")[:64], "size": 1234, "changed_at": timezone.now(), **changes},
    )


def send(client, folder: str, name: str = "a.csv", content: bytes = b"id\n1\n", **more):
    data = {"folder": folder, "file": SimpleUploadedFile(name, content), **more}
    return client.post(f"{FILES}upload/", data)


def test_without_files_the_page_says_what_to_do(workspace, as_):
    assert "No files yet" in words(as_("viewer").get(FILES))
    assert "Upload a file" not in words(as_("viewer").get(FILES))
    assert "Upload a file" in words(as_("editor").get(FILES))


def test_files_are_listed_with_state_hash_rows_run_and_reason(as_, run):
    unit(run)
    unit(run, "in/b.csv", UnitState.SKIPPED, reason="The same bytes were loaded as in/a.csv.")
    NodeRun.objects.create(workspace=run.workspace, run=run, position=0, node="files", kind="source", rows_out=5_000)
    text = words(as_("viewer").get(FILES))

    assert "Loaded in/a.csv 696e2f612e63 numbers 1,234 Run 1 of numbers 5,000 – –" in text
    assert "Skipped in/b.csv" in text
    assert "The same bytes were loaded as in/a.csv." in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state=committed", True),
        ("state=failed", False),
        ("pipeline=numbers", True),
        ("pipeline=unknown", False),
        ("pipeline=numbers&state=nonsense", False),
    ],
)
def test_files_are_narrowed(as_, run, query, found):
    unit(run)

    assert ("in/a.csv" in words(as_("viewer").get(f"{FILES}?{query}"))) is found


def test_the_files_of_a_run_are_listed(as_, run, pipeline):
    unit(run)
    other = queue_run(pipeline, Trigger.MANUAL, send=False)

    assert "in/a.csv" in words(as_("viewer").get(f"{FILES}?run={run.pk}"))
    assert "No matching files" in words(as_("viewer").get(f"{FILES}?run={other.pk}"))


def test_many_files_cost_a_constant_number_of_queries(as_, run, django_assert_max_num_queries):
    for n in range(60):
        unit(run, f"in/{n}.csv")
    NodeRun.objects.create(workspace=run.workspace, run=run, position=0, node="files", kind="source", rows_out=5)
    client = as_("viewer")

    with django_assert_max_num_queries(11):
        page = words(client.get(FILES))
    assert "in 60 files" in page


def test_an_editor_lets_a_file_be_loaded_again_with_a_reason(as_, run):
    found, client = unit(run), as_("editor")
    client.post(f"{FILES}{found.pk}/again/", {"reason": "It was corrected."})

    found.refresh_from_db()
    assert (found.forgotten_reason, found.forgotten_token) == ("It was corrected.", run.pipeline.fence_counter)
    assert "will be loaded again: It was corrected." in words(client.get(FILES))


def test_after_loading_again_the_list_keeps_its_filter_and_offers_the_run(as_, run):
    found, client = unit(run), as_("editor")
    data = {"reason": "It was corrected.", "query": "state=committed&cursor=x"}
    answer = client.post(f"{FILES}{found.pk}/again/", data)
    assert answer.url == f"{FILES}?state=committed&pipeline={run.pipeline.slug}"
    page = client.get(answer.url)
    assert f"Run {run.pipeline.slug}" in words(page)


def test_loading_a_skipped_file_again_means_the_one_that_was_loaded(as_, run):
    loaded = unit(run)
    skipped = unit(run, "in/b.csv", UnitState.SKIPPED, sha256=loaded.sha256)
    as_("editor").post(f"{FILES}{skipped.pk}/again/", {"reason": "Again."})

    loaded.refresh_from_db()
    assert loaded.forgotten_reason == "Again."


@pytest.mark.parametrize(
    ("state", "reason", "status"), [(UnitState.COMMITTED, "  ", 422), (UnitState.PROCESSING, "Why not.", 409)]
)
def test_without_a_reason_or_in_the_middle_of_a_run_nothing_is_loaded_again(as_, run, state, reason, status):
    found = unit(run, state=state)

    assert as_("editor").post(f"{FILES}{found.pk}/again/", {"reason": reason}).status_code == status
    found.refresh_from_db()
    assert found.forgotten_token is None


def test_an_editor_lets_all_files_of_a_pipeline_be_loaded_again(as_, pipeline):
    as_("editor").post(f"{FILES}again/numbers/", {"reason": "A new column."})

    pipeline.refresh_from_db()
    assert pipeline.forgotten_reason == "A new column."


def test_an_editor_leaves_a_failed_file_out(as_, run):
    found, client = unit(run, state=UnitState.FAILED), as_("editor")
    assert "Skip… in/a.csv" in words(client.get(FILES))
    client.post(f"{FILES}{found.pk}/leave-out/", {"reason": "Never needed."})

    found.refresh_from_db()
    assert (found.state, found.reason) == (UnitState.SKIPPED, "Skipped: Never needed.")
    assert "Skip… in/a.csv" not in words(client.get(FILES))


def test_a_viewer_changes_nothing(as_, run, root):
    found, client = unit(run), as_("viewer")

    assert client.post(f"{FILES}{found.pk}/again/", {"reason": "x"}).status_code == 403
    assert client.post(f"{FILES}again/numbers/", {"reason": "x"}).status_code == 403
    assert send(client, "in").status_code == 403
    assert not root.exists()


def test_files_of_another_workspace_are_not_there(as_, run):
    found, client = unit(run), as_("stranger")
    mine = FILES.replace("alices-team", "bobs-team")

    assert "in/a.csv" not in words(client.get(mine))
    assert client.post(f"{mine}{found.pk}/again/", {"reason": "x"}).status_code == 404
    assert client.post(f"{mine}again/numbers/", {"reason": "x"}).status_code == 404
    assert client.get(f"{mine}?run={run.pk}").status_code == 404


def test_an_upload_lands_whole_in_its_folder(as_, workspace, root):
    content = os.urandom(3_000_000)
    answer = send(as_("editor"), "in/2026/", content=content)

    assert answer["Location"] == FILES
    assert (root / "in/2026/a.csv").read_bytes() == content
    assert os.listdir(root.parent / ".uploads") == []


def test_an_upload_never_overwrites(as_, workspace, root):
    client = as_("editor")
    send(client, "in")
    answer = send(client, "in", content=b"other")

    assert answer.status_code == 409
    assert "Nothing was overwritten." in words(answer)
    assert (root / "in/a.csv").read_bytes() == b"id\n1\n"


@pytest.mark.parametrize("folder", ["../bobs-team", "in/../../x", ".hidden", "in\\x", "in/.git", "in/\x07"])
def test_an_upload_stays_below_the_workspaces_folder(as_, workspace, root, folder):
    assert send(as_("editor"), folder).status_code == 422
    assert not list(root.parent.rglob("a.csv"))


def test_an_upload_follows_no_link_out(as_, workspace, root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    root.mkdir()
    (root / "out").symlink_to(outside)

    assert send(as_("editor"), "out").status_code == 422
    assert not list(outside.iterdir())


@pytest.mark.parametrize("name", [".hidden.csv", "a:b.csv", "what?.csv", "x" * 201])
def test_names_that_would_surprise_are_refused(as_, workspace, root, name):
    assert send(as_("editor"), "in", name).status_code == 422


def test_too_large_an_upload_is_refused_and_leaves_nothing(as_, workspace, root, settings):
    settings.UPLOAD_BYTES = 100_000
    answer = send(as_("editor"), "in", content=b"x" * 200_000)

    assert answer.status_code == 413
    assert "larger than 100,000 bytes" in words(answer)
    assert not root.exists()


def test_no_file_at_all_is_reported(as_, workspace, root):
    answer = as_("editor").post(f"{FILES}upload/", {"folder": "in"})

    assert answer.status_code == 422
    assert "No file was sent." in words(answer)


def test_the_folders_of_pipelines_are_suggested(as_, pipeline):
    assert '<option value="in">' in as_("editor").get(f"{FILES}upload/").content.decode()


def test_the_folders_of_uploads_are_suggested_too_and_whether_a_pipeline_reads_them_is_reported(as_, pipeline, root):
    editor = as_("editor")
    send(editor, "in")
    assert "not read by a run yet" in words(editor.get(FILES))
    send(editor, "elsewhere/2026")

    assert "no pipeline reads this folder yet" in words(editor.get(FILES))
    assert '<option value="elsewhere/2026">' in editor.get(f"{FILES}upload/").content.decode()


def test_the_only_folder_is_filled_in_and_of_several_none(as_, pipeline):
    only = as_("editor").get(f"{FILES}upload/").context["form"]
    Pipeline.objects.create(workspace=pipeline.workspace, slug="others", name="others", source="elsewhere/")
    several = as_("editor").get(f"{FILES}upload/").context["form"]

    assert (only["folder"].value(), several["folder"].value()) == ("in", "")


def test_states_have_the_same_names_in_the_filter_and_in_the_list(as_, run):
    unit(run)

    assert '<option value="committed">Loaded</option>' in as_("viewer").get(FILES).content.decode()


def test_names_and_reasons_do_no_harm(as_, run):
    unit(run, HOSTILE, reason=HOSTILE, forgotten_reason=HOSTILE)

    assert_harmless(as_("editor").get(FILES))


def test_an_upload_is_pending_until_a_run_has_seen_its_bytes(as_, run, root):
    editor = as_("editor")
    send(editor, "in", content=b"id\n7\n")
    text = words(editor.get(FILES))
    assert f"Pending in/a.csv {Upload.objects.get().sha256[:12]} not read by a run yet 5" in text
    assert "uploaded by editor@example.com" in text
    assert "in/a.csv" not in words(editor.get(f"{FILES}?state=committed"))

    unit(run, sha256=Upload.objects.get().sha256)
    assert "Pending" not in editor.get(FILES).content.decode().partition("<tbody>")[2]


def test_an_upload_that_is_gone_is_not_pending(as_, workspace, root):
    editor = as_("editor")
    send(editor, "in")
    (root / "in/a.csv").unlink()

    assert "No files yet" in words(editor.get(FILES))


def test_an_upload_with_content_that_was_loaded_before_says_so(as_, run, root):
    editor = as_("editor")
    unit(run, "in/old.csv", sha256=hashlib.sha256(b"id\n1\n").hexdigest())
    answer = editor.post(
        f"{FILES}upload/", {"folder": "in", "file": SimpleUploadedFile("new.csv", b"id\n1\n")}, follow=True
    )

    assert "Pipeline numbers has seen the same bytes as in/old.csv before" in words(answer)


def test_the_rejected_rows_of_a_files_run_are_reported(as_, run):
    unit(run)
    counts = {"workspace": run.workspace, "run": run}
    NodeRun.objects.create(**counts, position=0, node="files", kind="source", rows_out=5_000)
    NodeRun.objects.create(**counts, position=1, node="load", kind="target", rows_out=0, rows_rejected=1_200)

    assert "5,000 1,200 rejected rows of run 1" in words(as_("viewer").get(FILES))


def test_filters_are_there_once_there_is_something_to_filter(as_, run):
    assert 'role="search" aria-label="Files"' not in as_("viewer").get(FILES).content.decode()
    unit(run)
    assert 'role="search" aria-label="Files"' in as_("viewer").get(FILES).content.decode()


def test_rows_of_one_file_are_reported_where_they_are_known(as_, run):
    unit(run, rows=77)
    NodeRun.objects.create(workspace=run.workspace, run=run, position=0, node="files", kind="source", rows_out=5_000)

    assert "Run 1 of numbers 77 –" in words(as_("viewer").get(FILES))


def test_rejected_rows_count_for_the_whole_run_if_its_other_file_was_loaded_later(as_, run):
    unit(run, rows=30)
    counts = {"workspace": run.workspace, "run": run}
    NodeRun.objects.create(**counts, position=0, node="files", kind="source", rows_out=39)
    NodeRun.objects.create(**counts, position=1, node="load", kind="target", rows_rejected=8)

    assert "30 8 rejected rows of run 1 in all files of the run" in words(as_("viewer").get(FILES))


def test_a_run_that_stored_no_rejected_rows_reports_none(as_, run):
    unit(run, rows=9)
    Run.objects.filter(pk=run.pk).update(state="discarded")
    counts = {"workspace": run.workspace, "run": run}
    NodeRun.objects.create(**counts, position=0, node="files", kind="source", rows_out=9)
    RuleCount.objects.create(
        **counts, position=0, node="check", rule="r", type="range", field="n", on_fail="skip", violations=2
    )

    assert "Run 1 of numbers 9 –" in words(as_("viewer").get(FILES))


def test_a_reason_that_cannot_be_stored_is_refused_with_a_page(as_, save):
    save()
    response = as_("editor").post("/w/alices-team/files/again/numbers/", {"reason": "\0"})
    assert response.status_code == 400
    assert "NUL character" in response.content.decode()
