"""Detecting the settings of a source in the editor: the proposed changes, and the draft after them."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.drafts import open_draft, replace_text
from tests.connectors.http_api.service import Service, serving
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def root(settings, tmp_path, workspace):
    settings.FILES_ROOT = tmp_path.resolve()
    folder = settings.FILES_ROOT / workspace.slug / "in"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def url(pipeline):
    def make(name: str, node: str = "files") -> str:
        query = {"tab": "visual", "node": node, "at": "/nodes/0"}
        return reverse(f"pipelines:{name}", args=["alices-team", pipeline.slug], query=query)

    return make


def buttons_of(answer) -> dict[str, str]:
    """The patches of the buttons, by their labels."""
    page = answer.content.decode()
    found = re.findall(r"<button [^>]*hx-vals='([^']*)'>(.*?)</button>", page, re.DOTALL)
    return {re.sub("<.*?>", "", label).strip(): json.loads(unescape(values))["patch"] for values, label in found}


def source_of(pipeline, editor) -> dict:
    return json.loads(open_draft(pipeline, editor).text)["nodes"][0]


def test_the_form_of_a_source_of_files_offers_it(web, url):
    assert "Detect settings" in words(web.get(url("panel")))
    assert "Detect settings" not in words(web.get(url("panel", node="load")))


def test_the_newest_file_says_what_would_change_and_nothing_does(web, url, root, pipeline, editor):
    (root / "a.csv").write_bytes("id;Betrag;Am\n1;7,25;31.12.2025\nMü;1;01.02.2026\n".encode("cp1252"))
    before = source_of(pipeline, editor)
    text = words(web.get(url("detect"), headers=HTMX))

    assert "Detected from in/a.csv" in text
    assert "The file is not UTF-8; it looks like Windows-1252." in text
    for row in ("delimiter – ;", "encoding – cp1252", 'column Am – date, format "%d.%m.%Y"'):
        assert row in text
    assert "column id integer string" in text
    assert source_of(pipeline, editor) == before


@pytest.mark.parametrize(
    ("button", "delimiter", "columns"),
    [
        ("Apply", ";", ["id", "Betrag"]),
        ("Only the format", ";", ["id"]),
        ("Only the columns", None, ["id", "Betrag"]),
    ],
)
def test_what_is_applied_is_in_the_draft(web, url, root, pipeline, editor, button, delimiter, columns):
    (root / "a.csv").write_text("id;Betrag\n1;7,25\n2;3,50\n")
    patch = buttons_of(web.get(url("detect"), headers=HTMX))[button]
    assert web.post(url("fix"), {"patch": patch}, headers=HTMX).status_code == 200

    source = source_of(pipeline, editor)
    assert source["config"]["format"].get("delimiter") == delimiter
    assert [column["name"] for column in source["columns"]] == columns
    if len(columns) > 1:
        assert source["columns"][1] == {"name": "Betrag", "type": "decimal(18,2)", "decimalSeparator": ","}


def test_a_source_that_is_right_has_nothing_to_apply(web, url, root):
    (root / "a.csv").write_text("id\n1\n2\n")
    assert "are the detected ones" in words(web.get(url("detect"), headers=HTMX))


def test_columns_that_the_file_lacks_are_named_and_stay(web, url, root, pipeline, editor):
    (root / "a.csv").write_text("number\n1\n")
    answer = web.get(url("detect"), headers=HTMX)
    assert "The sample has no column id." in words(answer)
    web.post(url("fix"), {"patch": buttons_of(answer)["Apply"]}, headers=HTMX)
    assert [column["name"] for column in source_of(pipeline, editor)["columns"]] == ["number", "id"]


def test_without_a_file_it_says_what_to_do(web, url, root):
    assert "There is no file to detect settings from." in words(web.get(url("detect"), headers=HTMX))


def test_a_file_that_cannot_be_read_says_why(web, url, root):
    (root / "a.csv").write_bytes(b"")
    assert "is empty" in words(web.get(url("detect"), headers=HTMX))


def test_a_viewer_may_not(sign_in, person, url):
    assert sign_in(person("viewer")).get(url("detect"), headers=HTMX).status_code == 403


def test_texts_of_the_file_are_escaped(web, url, root):
    (root / "a.csv").write_text(f'id,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n1,x\n2,y\n')
    assert_harmless(web.get(url("detect"), headers=HTMX))


@pytest.fixture
def service(workspace):
    """A web service on this machine, which only a connection allows."""
    with serving(Service()) as found:
        add_connection(workspace, "service", StoreFields("http", {"url": found.url}))
        yield found


@pytest.fixture
def read_from(pipeline, editor, document):
    """Make the source of the draft read a web service."""

    def make(url: str) -> None:
        made = document()
        read = {"connector": "http_api", "connection": "service", "config": {"url": url, "records": "$"}}
        made["nodes"][0] = {"id": "files", "kind": "source", **read}
        replace_text(open_draft(pipeline, editor), json.dumps(made))

    return make


def test_columns_of_a_web_service_are_proposed_from_its_first_records(web, url, service, read_from, pipeline, editor):
    service.records = [{"id": i, "paid": f"2026-03-0{i}", "total": 1.5 * i, "note": "x"} for i in range(1, 4)]
    read_from(f"{service.url}all")
    assert "Detect columns" in words(web.get(url("panel")))
    before = source_of(pipeline, editor)
    answer = web.get(url("detect"), headers=HTMX)
    assert "(first 3 records)" in words(answer)
    assert "column paid – date" in words(answer)
    assert source_of(pipeline, editor) == before

    patch = buttons_of(answer)["Apply"]
    assert web.post(url("fix"), {"patch": patch}, headers=HTMX).status_code == 200
    columns = {column["name"]: column["type"] for column in source_of(pipeline, editor)["columns"]}
    assert columns.keys() == {"id", "paid", "total", "note"}
    assert (columns["paid"], columns["note"]) == ("date", "string")


def test_a_web_service_without_records_says_so(web, url, service, read_from):
    read_from(f"{service.url}all")
    assert "The web service returned no records." in words(web.get(url("detect"), headers=HTMX))


def test_without_a_url_no_request_is_sent(web, url, read_from):
    read_from("")
    assert "Detected from" not in words(web.get(url("detect"), headers=HTMX))
