"""Listing the workspace's folder for choosing a file."""

from __future__ import annotations

import os

import pytest

from flowapp.uploads.folder import list_folder
from ir.errors import FlowError


@pytest.fixture
def root(settings, tmp_path, workspace):
    settings.FILES_ROOT = tmp_path.resolve()
    folder = settings.FILES_ROOT / workspace.slug
    (folder / "in/2026").mkdir(parents=True)
    return folder


pytestmark = pytest.mark.django_db


def test_folders_come_by_name_and_files_with_the_newest_first(workspace, root):
    for number, name in enumerate(("b.csv", "a.csv", ".hidden")):
        (root / "in" / name).write_text("id\n")
        os.utime(root / "in" / name, (number, number))
    found = list_folder(workspace, "/in/")

    assert found.folders == ("in/2026",)
    assert [file.path for file in found.files] == ["in/a.csv", "in/b.csv"]
    assert [file.name for file in found.matching("a*")] == ["a.csv"]
    assert list_folder(workspace, "in/2026").parents == [("in", "in"), ("in/2026", "2026")]


def test_links_and_names_that_are_no_text_are_left_out(workspace, root, tmp_path):
    (root / "link").symlink_to(tmp_path)
    (root / os.fsdecode(b"\xff.csv")).write_text("id\n")
    assert list_folder(workspace, "") == list_folder(workspace, ".")
    assert (list_folder(workspace, "").folders, list_folder(workspace, "").files) == (("in",), ())


@pytest.mark.parametrize("folder", ["gone", "..", "../bobs-team", "in/../..", "a\0b", "n" * 256, "in/" * 1365 + "x"])
def test_what_is_no_folder_of_the_workspace_is_unknown(workspace, root, folder):
    with pytest.raises(FlowError) as refused:
        list_folder(workspace, folder)
    assert refused.value.code in ("folder.unknown", "file.unknown")


def test_a_workspace_without_a_file_has_an_empty_folder(workspace, settings, tmp_path):
    settings.FILES_ROOT = tmp_path
    assert list_folder(workspace, "").files == ()
