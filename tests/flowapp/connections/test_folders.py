"""Connections to folders for Delta tables: each workspace has its own, and no path leaves it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from flowapp.accounts.models import Workspace
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.cli.connection import add_connection as add_by_command
from flowapp.connections.cli.connection import list_connections
from flowapp.connections.cli.connection import test_connection as probe_by_command
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, probe_connection, replace_password
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import resolve_store

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, settings: Any) -> Path:
    settings.LAKE_ROOT = tmp_path.resolve() / "lake"
    return settings.LAKE_ROOT


@pytest.fixture
def bobs(db: None) -> Workspace:
    return ensure_workspace("bobs")


def add(workspace: Workspace, path: str = "sales") -> Connection:
    return add_connection(workspace, "lake", StoreFields("folder", {"path": path}))


def test_a_folder_is_below_that_of_its_workspace(alices: Workspace, bobs: Workspace, lake: Path) -> None:
    found = [resolve_store(add(workspace)) for workspace in (alices, bobs)]
    assert [store.settings["path"] for store in found] == [
        str(lake / slug / "sales") for slug in (alices.slug, bobs.slug)
    ]
    assert [(store.kind, store.secrets) for store in found] == [("folder", {})] * 2
    assert not lake.exists()


@pytest.mark.parametrize("path", ["../other", "/etc", "~/x", "a/../../b", "a\\b", "C:/x"])
def test_a_path_that_can_leave_the_folder_is_refused(alices: Workspace, path: str) -> None:
    with pytest.raises(InvalidConnection, match="can lead outside") as refusal:
        add(alices, path)
    assert refusal.value.code == "connection.field_invalid"
    assert not Connection.objects.exists()


def test_a_link_out_of_the_folder_is_refused(alices: Workspace, bobs: Workspace, lake: Path) -> None:
    (lake / alices.slug).mkdir(parents=True)
    (lake / alices.slug / "sales").symlink_to(lake / bobs.slug)
    stored = add(alices)
    with pytest.raises(InvalidConnection) as refusal:
        resolve_store(stored)
    assert refusal.value.code == "connection.folder_outside"
    report = probe_connection(alices, "lake").last_test
    assert report is not None
    assert report["error"]["code"] == "connection.folder_outside"


def test_a_link_in_a_circle_is_refused(alices: Workspace, lake: Path) -> None:
    (lake / alices.slug).mkdir(parents=True)
    (lake / alices.slug / "sales").symlink_to(lake / alices.slug / "sales")
    with pytest.raises(InvalidConnection, match="leads out"):
        resolve_store(add(alices, "sales/a"))


def test_a_test_says_whether_the_folder_exists_and_creates_nothing(alices: Workspace, lake: Path) -> None:
    add(alices)
    report = probe_connection(alices, "lake").last_test
    assert report is not None
    assert (report["ok"], report["folderExists"], report["canWrite"]) == (True, False, True)
    assert not lake.exists()

    (lake / alices.slug / "sales").mkdir(parents=True)
    report = probe_connection(alices, "lake").last_test
    assert report is not None
    assert report["folderExists"]


def test_a_test_fails_where_no_folder_can_be_created(alices: Workspace, lake: Path) -> None:
    (lake / alices.slug).mkdir(parents=True)
    (lake / alices.slug / "sales").write_text("a file")
    add(alices, "sales/of_a_file")
    report = probe_connection(alices, "lake").last_test
    assert report is not None
    assert report["error"]["code"] == "connection.folder_not_writable"


def test_a_folder_has_no_secret(alices: Workspace) -> None:
    assert add(alices).secret == ""
    with pytest.raises(InvalidConnection, match="password is not a secret"):
        replace_password(alices, "lake", "x")


def test_the_pages_add_test_and_remove_a_folder(workspace: Workspace, as_: Callable[[str], Client], lake: Path) -> None:
    alice, at = as_("admin"), f"/w/{workspace.slug}/connections/"
    assert "Folder for Delta tables" in alice.get(f"{at}add/").content.decode()
    assert "can lead outside" in alice.post(f"{at}add/store/folder/", {"name": "lake", "path": ".."}).content.decode()
    shown = alice.post(f"{at}add/store/folder/", {"name": "lake", "path": "sales"}, follow=True).content.decode()
    assert "Replace the" not in shown
    assert "Browse files" not in shown
    assert "can be created" in alice.post(f"{at}named/lake/test/", follow=True).content.decode()
    assert alice.get(f"{at}named/lake/files/").status_code == 302
    alice.post(f"{at}named/lake/remove/")
    assert not Connection.objects.exists()


def test_editors_cannot_add_a_folder(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    answer = as_("editor").post(f"/w/{workspace.slug}/connections/add/store/folder/", {"name": "lake", "path": "a"})
    assert answer.status_code == 403


def test_the_command_adds_lists_and_tests_a_folder(alices: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_WORKSPACE", alices.slug)
    given = Namespace(name="lake", kind="folder", set=["path=sales"], secret=None, password_stdin=False, url=None)
    assert add_by_command(given).document["settings"] == {"path": "sales"}
    assert probe_by_command(Namespace(name="lake")).document["canWrite"]
    assert list_connections(Namespace()).document["connections"][0]["hasPassword"] is False
