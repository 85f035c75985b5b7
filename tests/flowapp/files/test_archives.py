"""The pages of ZIP archives and of the files in them."""

from __future__ import annotations

import pytest

from flowapp.files.selectors import list_waiting
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.selectors import failed_names
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from flowapp.uploads.models import Upload
from tests.executors.formats.zips import packed
from tests.flowapp.files.test_file_page import content_of
from tests.flowapp.files.test_pages import FILES, root, send, unit
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
__all__ = ["root"]
MAY = "Kunde;Betrag\nMüller;1.234,50\n".encode("cp1252")
ARCHIVE = packed({"README.md": b"x", "2024/may.csv": MAY})
MEMBER = "in/a.zip/2024/may.csv"


@pytest.fixture
def upload(as_, root) -> Upload:
    send(as_("editor"), "in", name="a.zip", content=ARCHIVE)
    return Upload.objects.get()


@pytest.fixture
def run(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


@pytest.fixture
def member(run, upload) -> str:
    """The address of the page of a loaded file in the archive."""
    return f"{FILES}{unit(run, MEMBER, size=len(MAY), mtime_ns=upload.mtime_ns).pk}/"


def test_the_page_of_a_file_in_an_archive_shows_its_rows(as_, member):
    text = words(as_("editor").get(member))
    assert "Kunde string Betrag decimal(18,2) Müller 1.234,50" in text
    assert "has changed since" not in text


def test_a_file_in_an_archive_can_be_downloaded(as_, member):
    answer = as_("editor").get(f"{member}download/")
    assert content_of(answer) == MAY
    assert answer["Content-Disposition"] == "attachment; filename*=UTF-8''may.csv"


@pytest.mark.parametrize("content", [packed({"other.csv": MAY}), packed({"2024/may.csv": MAY})[:-9], b""])
def test_a_file_that_is_no_longer_in_its_archive_is_reported(as_, member, root, content):
    (root / "in/a.zip").write_bytes(content)
    assert "There is no file at this path any more." in words(as_("editor").get(member))
    assert as_("editor").get(f"{member}download/").status_code in (404, 422)


@pytest.mark.parametrize("name", ["in/a.zip/../a.zip", "in/a.zip/../../other/b.csv", "in/a.zip/.hidden"])
def test_no_name_leads_out_of_an_archive(as_, run, upload, root, name):
    (root.parent / "other").mkdir()
    (root.parent / "other/b.csv").write_bytes(MAY)
    found = unit(run, name)
    assert "Kunde" not in words(as_("editor").get(f"{FILES}{found.pk}/"))
    assert as_("editor").get(f"{FILES}{found.pk}/download/").status_code == 404


def test_the_page_of_an_archive_shows_the_first_file_of_text(as_, upload):
    text = words(as_("editor").get(f"{FILES}uploads/{upload.pk}/"))
    assert "Kunde string Betrag decimal(18,2) Müller 1.234,50" in text


def test_an_archive_waits_until_a_run_has_read_its_files(as_, workspace, upload, run):
    assert list_waiting(workspace) == [upload]
    unit(run, MEMBER)
    assert list_waiting(workspace) == []


def test_an_archive_of_which_a_file_is_loaded_cannot_be_deleted(as_, upload, member, root):
    place = f"{FILES}uploads/{upload.pk}/"
    assert "Delete" not in words(as_("editor").get(place))
    assert as_("editor").post(f"{place}delete/").status_code == 409
    assert (root / "in/a.zip").exists()


def test_a_failed_archive_blocks_none_once_its_files_are_loaded(pipeline, run):
    unit(run, "in/a.zip", UnitState.FAILED)
    unit(run, "in/b.zip", UnitState.FAILED)
    assert failed_names(pipeline.pk, "files") == {"in/a.zip", "in/b.zip"}
    unit(run, MEMBER)
    assert failed_names(pipeline.pk, "files") == {"in/b.zip"}
