"""Uploaded files are complete, so that runs read them at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from executors.model import SourceFile
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from flowapp.uploads.selectors import uploaded_whole
from flowapp.uploads.services import InvalidUpload, keep_upload
from ir.nodes import Source
from tests.flowapp.files.test_pages import root

pytestmark = pytest.mark.django_db
__all__ = ["root"]
SOURCE = Source(
    id="files",
    kind="source",
    connector="local_fs",
    config={"path": "in", "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}},
)


@pytest.fixture
def upload(workspace, root) -> Callable[[str], Path]:
    """Uploads a small file and says where it lies."""
    return lambda name: root / keep_upload(workspace, "in", SimpleUploadedFile(name, b"id\n1\n")).path


def listed(workspace, root: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return the files that a run of the source would read at once, and those that it would wait for."""
    handler = load_file_source(SOURCE, SourceContext(root, Claimant("orders", frozenset(["files"]))))
    listing = handler.list_files(time.time(), lambda files: uploaded_whole(workspace, files))
    return [file.name for file in listing.files], tuple(file.name for file in listing.unsettled)


def test_an_upload_is_taken_at_once_and_a_copied_file_is_waited_for(workspace, root, upload):
    upload("sent.csv")
    (root / "in/copied.csv").write_bytes(b"id\n1\n")

    assert listed(workspace, root) == (["in/sent.csv"], ("in/copied.csv",))


@pytest.mark.parametrize("change", [lambda path: path.write_bytes(b"id\n1\n2\n"), lambda path: os.utime(path)])
def test_an_upload_that_was_touched_since_may_still_grow(workspace, root, upload, change):
    change(upload("sent.csv"))

    assert listed(workspace, root) == ([], ("in/sent.csv",))


def test_an_upload_under_another_name_may_still_grow(workspace, root, upload):
    upload("sent.csv").rename(root / "in/renamed.csv")

    assert listed(workspace, root) == ([], ("in/renamed.csv",))


def test_a_thousand_young_files_cost_a_handful_of_queries(workspace, root, upload, django_assert_max_num_queries):
    sent = upload("sent.csv")
    status = sent.stat()
    files = [SourceFile(n, f"{root}/in/{n}.csv", f"in/{n}.csv", 1, n) for n in range(1000)]
    files.append(SourceFile(1000, str(sent), "in/sent.csv", status.st_size, status.st_mtime_ns))

    with django_assert_max_num_queries(3):
        assert uploaded_whole(workspace, files) == {str(sent)}


def test_an_archive_is_refused_unless_its_name_says_so(workspace, root):
    with pytest.raises(InvalidUpload) as refused:
        keep_upload(workspace, "in", SimpleUploadedFile("orders.csv", b"PK\x03\x04" + bytes(40)))
    assert refused.value.code == "upload.format_unreadable"
    assert "ZIP archive" in refused.value.message
    assert not (root / "in/orders.csv").exists()


def test_an_archive_is_stored_under_its_name(workspace, root):
    keep_upload(workspace, "in", SimpleUploadedFile("orders.ZIP", b"PK\x03\x04" + bytes(40)))
    assert (root / "in/orders.ZIP").exists()
