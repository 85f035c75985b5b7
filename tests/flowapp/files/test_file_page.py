"""The page of one file: its content, the runs that loaded it, download and deletion."""

from __future__ import annotations

import asyncio
import hashlib
import re

import pytest

from executors.model import SourceFile
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.load_units.services import claim_units, finish_units, release_units
from flowapp.runs.models import NodeRun, Trigger
from flowapp.runs.services import queue_run
from flowapp.uploads.models import Upload
from tests.flowapp.files.test_pages import FILES, root, send, unit
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
__all__ = ["root"]
CONTENT = "Kunde;Betrag\nMüller;1.234,50\n".encode("cp1252")


@pytest.fixture
def upload(as_, root) -> Upload:
    send(as_("editor"), "in", content=CONTENT)
    return Upload.objects.get()


@pytest.fixture
def address(upload) -> str:
    return f"{FILES}uploads/{upload.pk}/"


@pytest.fixture
def loaded(pipeline, upload):
    """The uploaded file, loaded by a run."""
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    nodes = (("files", "source", {"rows_out": 5}), ("load", "target", {"rows_loaded": 3, "rows_rejected": 2}))
    for position, (node, kind, numbers) in enumerate(nodes):
        NodeRun.objects.create(workspace=run.workspace, run=run, position=position, node=node, kind=kind, **numbers)
    return unit(run, upload.path, sha256=upload.sha256, size=upload.size, mtime_ns=upload.mtime_ns, rows=5)


def content_of(answer) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in answer.streaming_content])

    return asyncio.run(read())


def test_the_list_leads_to_the_page_of_each_file(as_, address, loaded):
    assert f"{FILES}{loaded.pk}/" in as_("viewer").get(FILES).content.decode()
    loaded.delete()
    assert address in as_("viewer").get(FILES).content.decode()


def test_settings_problems_and_first_rows_are_shown(as_, address):
    text = words(as_("editor").get(address))

    assert 'Delimiter ; Quote " Encoding cp1252 First line column names' in text
    assert "The file is not UTF-8; it looks like Windows-1252." in text
    assert "Kunde string Betrag decimal(18,2) Müller 1.234,50" in text
    assert "No run has read this file yet." in text


def test_a_viewer_sees_the_file_without_its_values(as_, address):
    page = as_("viewer").get(address)
    assert "Your role does not see the values of rows." in words(page)
    assert "Müller" not in words(page)
    assert as_("viewer").get(f"{address}download/").status_code == 403


def test_runs_are_listed_with_rows_loaded_and_rejected(as_, loaded, address):
    for place in (address, f"{FILES}{loaded.pk}/"):
        assert "Loaded numbers in/a.csv Run 1 of numbers 5 3 2 rejected rows of run 1" in words(
            as_("viewer").get(place)
        )


def test_the_bytes_can_be_downloaded_under_their_name(as_, address, loaded):
    for place in (address, f"{FILES}{loaded.pk}/"):
        answer = as_("editor").get(f"{place}download/")
        assert content_of(answer) == CONTENT
        assert answer["Content-Disposition"] == "attachment; filename*=UTF-8''a.csv"
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_an_upload_that_nothing_has_loaded_can_be_deleted(as_, address, upload, root):
    assert "are lost unless there is another copy" in words(as_("editor").get(address))
    as_("editor").post(f"{address}delete/")

    assert not (root / "in/a.csv").exists()
    assert not Upload.objects.exists()


@pytest.mark.parametrize("state", [UnitState.COMMITTED, UnitState.PROCESSING])
def test_a_loaded_file_cannot_be_deleted(as_, address, loaded, root, state):
    type(loaded).objects.update(state=state)

    assert "Delete" not in words(as_("editor").get(address))
    assert as_("editor").post(f"{address}delete/").status_code == 409
    assert (root / "in/a.csv").exists()


def test_a_file_that_has_changed_or_gone_is_reported_and_not_deleted(as_, address, root):
    (root / "in/a.csv").write_bytes(b"id\n1\n")
    assert "has changed since" in words(as_("editor").get(address))
    assert as_("editor").post(f"{address}delete/").status_code == 409

    (root / "in/a.csv").unlink()
    page = as_("editor").get(address)
    assert "There is no file at this path any more." in words(page)
    assert "Create pipeline" not in words(page)
    assert as_("editor").get(f"{address}download/").status_code == 404


def test_a_viewer_cannot_delete_and_strangers_see_nothing(as_, address):
    assert as_("viewer").post(f"{address}delete/").status_code == 403
    assert as_("stranger").get(address).status_code == 404


def test_texts_of_the_file_are_escaped(as_, root, upload):
    content = f'id,name\n1,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n'.encode()
    (root / "in/b.csv").write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    other = Upload.objects.create(workspace=upload.workspace, path="in/b.csv", sha256=sha256, size=len(content))
    assert_harmless(as_("editor").get(f"{FILES}uploads/{other.pk}/"))


def test_a_file_that_cannot_be_read_says_why(as_, root, upload, address):
    (root / "in/a.csv").write_bytes(b"")
    assert "in/a.csv is empty." in words(as_("editor").get(address))


def test_all_runs_that_tried_to_load_a_file_are_listed_by_pages(as_, pipeline, monkeypatch):
    monkeypatch.setattr("flowapp.files.views.TRIES_OF_A_PAGE", 2)
    file = SourceFile(0, "/in/a.csv", "in/a.csv", 9, 1)
    for number in range(1, 4):
        run = queue_run(pipeline, Trigger.MANUAL, send=False)
        claim_units(run, "files", {"1" * 64: file}, 1)
        if number == 2:
            release_units(run, UnitState.PENDING, "The worker stopped.")
        else:
            finish_units(run, ["1" * 64])
    at = f"{FILES}{LoadUnit.objects.get().pk}/"
    first = as_("viewer").get(at)
    cursor = re.search(r"cursor=([\w-]+)", first.content.decode())[1]
    older = words(as_("viewer").get(at, {"cursor": cursor})).partition("Runs that tried")[2]

    newest = words(first).partition("Runs that tried")[2]
    assert newest.index("Loaded Run 3 of numbers") < newest.index(
        "Run 2 of numbers numbers in/a.csv The worker stopped."
    )
    assert "Run 1 of" not in newest
    assert "Loaded Run 1 of numbers" in older


def test_columns_that_differ_from_the_previous_file_are_shown_and_marked(as_, pipeline):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    for number, names in enumerate([("id", "name"), ("id", "<b>", "total")], 1):
        file = SourceFile(0, "/in/a.csv", f"in/{number}.csv", 9, 1, columns=tuple((name, "string") for name in names))
        claim_units(run, "files", {str(number) * 64: file}, 1)
    changed = LoadUnit.objects.get(sha256="2" * 64)

    page = as_("viewer").get(f"{FILES}{changed.pk}/")

    assert "It has 2 columns, this file 3." in words(page)
    assert "Added – <b> column 2 Added – total column 3 Dropped name column 2 –" in words(page)
    assert "&lt;b&gt;" in page.content.decode()
    assert words(as_("viewer").get(FILES)).count("Columns differ") == 1
