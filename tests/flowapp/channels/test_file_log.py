"""A kind of channel that is one file works on the pages, in the API and on the command line."""

from __future__ import annotations

import pytest

from flowapp.alerts.services import raise_alert
from flowapp.channels.courier import deliver_to
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.models import Channel
from tests.channels.file_log import KIND
from tests.flowapp import described
from tests.flowapp.cli.conftest import flow
from tests.flowapp.reading import words

__all__ = ["flow"]
pytestmark = pytest.mark.django_db
PAGES = "/w/alices-team/channels/"
API = "/api/channels/"
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture(autouse=True)
def file_log(monkeypatch):
    monkeypatch.setitem(CHANNEL_KINDS._kinds, KIND.name, KIND)
    described.forget()
    yield
    described.forget()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "alerts.log"


def test_it_is_added_tested_changed_and_removed_by_its_pages(workspace, as_, log):
    client = as_("admin")
    assert "Add file log" in words(client.get(PAGES))
    refused = client.post(f"{PAGES}add/file_log/", {"name": "log", "path": "x", "severity": "warning"})
    assert 'id="id_path_error">The path is not absolute.' in refused.content.decode()
    page = client.post(f"{PAGES}add/file_log/", {"name": "log", "path": str(log), "severity": "warning"}, follow=True)
    assert f"Path {log} Prefix none" in words(page)
    assert "Replace the" not in words(page)
    assert str(log) in words(client.get(PAGES))
    assert "Test delivered." in words(client.post(f"{PAGES}of/log/test/", follow=True))
    client.post(f"{PAGES}of/log/address/", {"path": str(log), "prefix": "flow:"})
    client.post(f"{PAGES}of/log/test/")
    assert [line.startswith("flow:") for line in log.read_text().splitlines()] == [False, True]
    assert client.post(f"{PAGES}of/log/secret/", {"secret": "x"}).status_code == 404
    client.post(f"{PAGES}of/log/remove/")
    assert not Channel.objects.exists()


def test_it_is_added_tested_changed_and_removed_by_the_api(workspace, as_, log):
    client = as_("admin")
    wish = {"name": "log", "kind": "file_log", "path": str(log)}
    made = client.post(API, wish, content_type="application/json", headers=HERE).json()
    assert (made["kind"], made["path"], "host" in made) == ("file_log", str(log), False)
    assert [channel["path"] for channel in client.get(API, headers=HERE).json()["results"]] == [str(log)]
    assert client.post(f"{API}log/test/", headers=HERE).json()["state"] == "delivered"
    changed = client.patch(f"{API}log/", {"prefix": "flow:"}, content_type="application/json", headers=HERE)
    assert changed.json()["prefix"] == "flow:"
    secret = client.patch(f"{API}log/", {"secret": "x"}, content_type="application/json", headers=HERE)
    assert secret.json()["code"] == "channel.not_changeable"
    assert client.delete(f"{API}log/", headers=HERE).status_code == 204


def test_it_is_added_listed_tested_and_removed_by_the_command_line(flow, log):
    added = flow("channel", "add", "log", "--file-log", str(log), "--prefix", "flow:", "--json")
    assert (added.status, added.json["prefix"]) == (0, "flow:")
    assert str(log) in flow("channel", "list").stdout
    assert flow("channel", "test", "log").status == 0
    assert log.read_text().startswith("flow:")
    assert flow("channel", "remove", "log").status == 0


def test_it_gets_an_alert(pipeline, as_, log):
    wish = {"name": "log", "kind": "file_log", "path": str(log)}
    as_("admin").post(API, wish, content_type="application/json", headers=HERE)
    raise_alert("run.failed", "error", "It broke.", "Mend it.", pipeline=pipeline)
    assert deliver_to(Channel.objects.get().pk) == 1
    assert log.read_text().endswith("Error: A run failed in numbers\n")
