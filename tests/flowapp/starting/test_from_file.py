"""A pipeline from a file: proposals, corrections, and the document that is saved."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from flowapp.pipelines.models import PipelineVersion
from flowapp.runs.models import Run
from flowapp.starting.names import table_name
from flowapp.uploads.models import Upload
from ir.patterns import glob_matcher
from tests.executors.formats.zips import packed
from tests.flowapp.reading import HOSTILE, assert_harmless, words

NEW = "/w/alices-team/new-pipeline/"
ORDERS = "Auftrag-Nr;Kunde;Betrag;Bestellt am\n1;Müller;1.234,50;31.12.2025\n2;Weiß;7,25;2026-02-01\n"


@pytest.fixture
def orders(root) -> str:
    """The address of the page for a file of orders."""
    (root / "orders").mkdir()
    (root / "orders/orders-2026-01.csv").write_bytes(ORDERS.encode("cp1252"))
    return f"{NEW}file/?path=orders/orders-2026-01.csv"


def fields_of(answer) -> dict[str, list[str]]:
    """Return what a browser would send for the displayed form."""
    page = answer.content.decode()
    form = page[page.index('id="start-form"') :]
    found: dict[str, list[str]] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        given = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        is_off = given.get("type") in ("checkbox", "radio") and not re.search(r"\schecked", tag)
        if "name" in given and not is_off:
            found.setdefault(given["name"], []).append(unescape(given.get("value", "on")))
    for name, options in re.findall(r'<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        found[name] = [unescape(value) for value in re.findall(r'value="([^"]*)" selected', options)]
    return found


def change(client, address: str, shown, **changes: str):
    """Change fields of the form that an answer shows, and send it."""
    data = {**fields_of(shown), **changes}
    return client.post(address, {name: value for name, value in data.items() if value is not None})


def saved() -> dict:
    return json.loads(PipelineVersion.objects.get().document)


@pytest.fixture
def client(as_):
    return as_("editor")


pytestmark = pytest.mark.django_db


def test_an_upload_gets_a_folder_of_its_own(client, root):
    (root / "orders").mkdir()
    answer = client.post(f"{NEW}upload/", {"file": SimpleUploadedFile("Orders 2026-01.csv", b"id\n1\n")})

    assert Upload.objects.get().path == "orders_2/Orders 2026-01.csv"
    assert answer["Location"] == f"{NEW}file/?path=orders_2%2FOrders+2026-01.csv"


@pytest.mark.parametrize("file", ["orders.csv", "Orders-2026-01-31.csv", "orders Q1.csv", "orders_2026-Q4.csv"])
def test_names_leave_out_the_period_of_a_file(file):
    assert table_name(file) == "orders"


def test_what_cannot_be_read_is_refused_where_it_was_sent(client, root):
    answer = client.post(f"{NEW}upload/", {"file": SimpleUploadedFile("a.xlsx", b"PK\x03\x04" + b"\0" * 100)})
    assert answer.status_code == 422
    assert "which Flow cannot read" in words(answer)


def test_settings_types_and_rows_are_proposed(client, orders, connected):
    page = client.get(orders)
    shown = fields_of(page)

    assert (shown["delimiter"], shown["encoding"], shown["header"]) == ([";"], ["cp1252"], ["true"])
    assert (shown["c2-type"], shown["c2-separators"]) == (["decimal(18,2)"], [",."])
    assert (shown["c3-type"], shown["c3-formats"]) == (["date"], ["%d.%m.%Y | %Y-%m-%d"])
    assert (shown["mode"], shown["table"], shown["name"]) == (["upsert"], ["orders"], ["Orders"])
    assert "1234.50 1.234,50 2025-12-31 31.12.2025" in words(page)
    assert "does not exist. The first run creates it" in words(page)


def test_the_proposal_is_saved_as_a_valid_document(client, orders, connected):
    answer = change(client, orders, client.get(orders), action="create")

    assert answer["Location"] == "/w/alices-team/pipelines/orders/"
    source, columns, check, load = saved()["nodes"]
    assert source["config"] == {
        "path": "orders",
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv", "delimiter": ";", "quote": '"', "encoding": "cp1252", "header": True},
    }
    assert source["columns"][2:] == [
        {"name": "Betrag", "type": "decimal(18,2)", "decimalSeparator": ",", "groupSeparator": "."},
        {"name": "Bestellt am", "type": "date", "format": ["%d.%m.%Y", "%Y-%m-%d"]},
    ]
    assert columns["ops"][0]["columns"]["Auftrag-Nr"] == "auftrag_nr"
    assert check["rowLevel"] == [{"type": "notNull", "field": "auftrag_nr", "onFail": "skip"}]
    assert (load["loadMode"], load["upsertKey"], load["onTypeMismatch"]) == ("upsert", ["auftrag_nr"], "skip")
    assert load["columns"][0] == {"name": "auftrag_nr", "type": "integer", "nullable": False}


def test_create_and_run_leads_to_the_run(client, orders, connected, redis_url):
    answer = change(client, orders, client.get(orders), action="run")
    assert answer["Location"] == f"/w/alices-team/runs/{Run.objects.get().pk}/"


def test_a_changed_delimiter_reads_the_file_again_and_stays(client, orders, connected):
    changed = change(client, orders, client.get(orders), delimiter=",")
    again = change(client, orders, changed, name="Mine")

    for page in (changed, again):
        assert fields_of(page)["delimiter"] == [","]
        assert fields_of(page)["c0-name"] == ["Auftrag-Nr;Kunde;Betrag;Bestellt am"]


def test_a_type_that_does_not_fit_marks_its_cells_and_counts_them(client, orders, connected):
    page = change(client, orders, client.get(orders), **{"c1-type": "date"})

    assert "Kunde: 2 of 2 values are not a date: 'Müller', 'Weiß'." in words(page)
    assert page.content.decode().count("flow-misfit") == 2


def test_columns_can_be_left_out_and_misfits_can_fail_the_run(client, orders, connected):
    shown = client.get(orders)
    changes = {"c1-included": None, "onMisfit": "fail", "mode": "append", "files": "one"}
    change(client, orders, shown, action="create", **changes)

    source, columns, load = saved()["nodes"]
    assert source["config"]["pattern"]["value"] == "orders-2026-01.csv"
    assert source["config"]["format"]["onBadRow"] == "abort"
    assert columns["ops"][0] == {"op": "drop", "columns": ["Kunde"]}
    assert "onTypeMismatch" not in load
    assert "kunde" not in [column["name"] for column in load["columns"]]


def test_errors_are_shown_at_their_fields_and_nothing_is_saved(client, orders, connected):
    shown = client.get(orders)
    answer = change(client, orders, shown, action="create", **{"c3-formats": "%d", "table": "", "c0-key": None})
    page = answer.content.decode()

    assert answer.status_code == 422
    for field in ("c3", "table", "mode"):
        assert f'id="notes-{field}"' in page
    assert not PipelineVersion.objects.exists()


def test_an_upsert_without_a_key_says_where_to_choose_it(client, orders, connected):
    shown = client.get(orders)
    assert "Key: auftrag_nr. Change it in the table of columns above." in words(shown)
    page = change(client, orders, shown, **{"c0-key": None})
    assert "Choose the key: the columns above that identify a row." in words(page)


def test_the_key_of_an_existing_table_is_proposed(client, orders, connected, schema, warehouse):
    from executors.postgres.client import connect

    with connect(warehouse) as session:
        session.execute(f'CREATE TABLE "{schema}".orders (auftrag_nr integer, kunde text UNIQUE, betrag numeric)')
        session.commit()
    page = change(client, orders, client.get(orders), schema=schema)

    assert ("c1-key" in fields_of(page), "c0-key" in fields_of(page)) == (True, False)
    assert "It has no column bestellt_am." in words(page)


def test_without_a_connection_the_page_says_what_to_do(client, orders):
    page = client.get(orders)
    assert "There is no connection to a database yet. Ask an admin" in words(page)
    assert "is not an id" not in words(page)
    refused = change(client, orders, page, action="create")
    assert (refused.status_code, "Add a connection first." in words(refused)) == (422, True)


def test_a_file_that_cannot_be_read_says_why_and_keeps_the_settings(client, root):
    (root / "a.csv").write_bytes(b"\x00\x01\x02\x03" * 100)
    page = client.get(f"{NEW}file/?path=a.csv")
    assert "is not a text file" in words(page)
    assert "encoding" in fields_of(page)


ODD_VALUES = (
    *(("delimiter", value) for value in ("", "ab", "ü")),
    ("quote", ";"),
    *(("encoding", value) for value in ("rot13", "utf-16")),
    *(("type", value) for value in ("xml", "parquet", "json")),
    ("header", "maybe"),
    ("nullValues", "1, , 2," * 50),
    *(("c2-type", value) for value in ("pg:inet", "json")),
    ("c2-separators", "?"),
    *(("c3-formats", value) for value in ("%Q | % | " + "%d" * 99, "%d.%m.%Y | %m.%d.%Y")),
    *(("c0-target", value) for value in ("", "_flow_x", "kunde", "x" * 64)),
    ("connection", "nobody"),
    ("schema", "flow_meta"),
    ("table", 'a"b.c d'),
    *(("mode", value) for value in ("cdc_mirror", "nonsense")),
    ("onMisfit", "nonsense"),
    ("files", "nonsense"),
    *(("name", value) for value in ("–", "a\0b")),
)


def test_no_value_makes_the_page_fail(client, orders, connected):
    shown = client.get(orders)
    statuses = {
        odd: change(client, orders, shown, action="create", **{odd[0]: odd[1]}).status_code for odd in ODD_VALUES
    }
    assert {odd: status for odd, status in statuses.items() if status >= 500} == {}


@pytest.fixture
def wide(root, connected) -> str:
    """The address of the page for a file of 250 columns, of which the first is a key."""
    lines = [",".join(f"{prefix}{n}" for n in range(250)) for prefix in ("c", 1, 2)]
    (root / "wide.csv").write_text("\n".join(lines))
    return f"{NEW}file/?path=wide.csv"


def shown_columns(answer) -> list[str]:
    return [values[0] for name, values in fields_of(answer).items() if re.fullmatch(r"c\d+-target", name)]


def test_a_file_can_have_many_columns(client, wide):
    shown = client.get(wide)
    assert shown_columns(shown) == [f"c{n}" for n in range(100)]
    assert fields_of(change(client, wide, shown, table="other"))["table"] == ["other"]


def test_columns_are_paged_and_found_by_name(client, wide):
    shown = client.get(wide)
    assert shown_columns(change(client, wide, shown, shows="200")) == [f"c{n}" for n in range(200, 250)]
    assert shown_columns(change(client, wide, shown, find="C24")) == ["c24", *(f"c{n}" for n in range(240, 250))]
    assert shown_columns(change(client, wide, shown, find="none of them")) == []


def test_changes_of_columns_on_other_pages_are_not_lost(client, wide):
    shown = change(client, wide, client.get(wide), **{"c3-type": "string", "c4-included": None, "c5-target": "five"})
    second = change(client, wide, shown, shows="100", mode="upsert", **{"c1-key": "on"})
    third = change(client, wide, second, shows="200", **{"c101-type": "string"})
    change(client, wide, third, action="create", **{"c201-target": "renamed"})

    source, columns, _, target = saved()["nodes"]
    types = {column["name"]: column["type"] for column in source["columns"]}
    assert (types["c3"], types["c101"], types["c102"]) == ("string", "string", "integer")
    assert columns["ops"] == [
        {"op": "drop", "columns": ["c4"]},
        {"op": "rename", "columns": {"c5": "five", "c201": "renamed"}},
    ]
    assert "c1" in target["upsertKey"]


def test_errors_of_columns_that_are_not_shown_are_named(client, wide):
    shown = change(client, wide, client.get(wide), **{"c5-target": "c6"})
    refused = change(client, wide, shown, shows="100", action="create")
    assert "Columns that are not shown have errors: c5" in words(refused)
    noted = change(client, wide, refused, shows="notes")
    assert "c6" in shown_columns(noted)


def test_texts_of_the_file_are_escaped(client, root, connected):
    (root / "a.csv").write_text(f'id,name\n1,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n')
    assert_harmless(client.get(f"{NEW}file/?path=a.csv"))


@pytest.mark.parametrize("place", ["", "files/", "file/?path=orders/orders-2026-01.csv", "blank/"])
def test_viewers_cannot_start_pipelines(as_, orders, place):
    assert as_("viewer").get(NEW + place).status_code == 403


def test_files_and_folders_can_be_chosen(client, orders):
    assert "orders" in words(client.get(NEW))
    page = client.get(f"{NEW}files/?folder=orders").content.decode()
    assert "path=orders/orders-2026-01.csv&amp;files=all" in page
    assert client.get(f"{NEW}files/?folder=../x").status_code == 404


def test_an_editor_cannot_add_a_connection(client, orders):
    assert change(client, orders, client.get(orders), action="connect").status_code == 403


def test_the_menu_shows_where_the_page_belongs(client, orders):
    assert re.search(
        r'<a class="nav-link" href="/w/alices-team/pipelines/" aria-current="page"', client.get(NEW).content.decode()
    )


def test_a_file_whose_name_holds_signs_of_a_glob_is_read_alone(client, root, connected):
    for name in ("a[1].csv", "a1.csv"):
        (root / name).write_text("id\n1\n2\n")
    address = f"{NEW}file/?path=a[1].csv"
    change(client, address, client.get(address), action="create", files="one")
    pattern = saved()["nodes"][0]["config"]["pattern"]["value"]
    assert [name for name in ("a[1].csv", "a1.csv") if glob_matcher(pattern)(name)] == ["a[1].csv"]


def test_a_column_whose_name_holds_a_line_end_can_be_left_out(client, root, connected):
    (root / "a.csv").write_text('id,name,"two\nlines"\n1,x,2\n2,y,3\n')
    address = f"{NEW}file/?path=a.csv"
    shown = client.get(address)
    change(client, address, shown, action="create", **{"c2-name": "two\r\nlines", "c2-included": None})
    assert {"op": "drop", "columns": ["two\nlines"]} in saved()["nodes"][1]["ops"]


def test_a_key_that_would_be_all_columns_is_not_proposed(client, root, connected):
    (root / "a.csv").write_text("id\n1\n2\n")
    address = f"{NEW}file/?path=a.csv"
    change(client, address, client.get(address), action="create")
    assert saved()["nodes"][-1]["loadMode"] == "append"


@pytest.mark.parametrize(
    ("name", "members"), [("may.csv", None), ("may.dat", {"type": "glob", "value": "*.dat"})], ids=["usual", "other"]
)
def test_an_archive_is_read_with_the_settings_of_the_files_in_it(client, root, connected, name, members):
    (root / "orders").mkdir()
    (root / "orders/2026.zip").write_bytes(packed({name: ORDERS.encode("cp1252")}))
    address = f"{NEW}file/?path=orders/2026.zip"
    change(client, address, client.get(address), action="create")

    config = saved()["nodes"][0]["config"]
    assert config["pattern"] == {"type": "glob", "value": "*.zip"}
    assert (config["format"]["delimiter"], config["format"]["encoding"]) == (";", "cp1252")
    assert config.get("members") == members


def test_the_page_says_which_files_in_an_archive_are_read(client, root, connected):
    """The pipeline names them by a pattern, so that its runs do not warn of the others."""
    (root / "orders").mkdir()
    rows = ORDERS.encode("cp1252")
    (root / "orders/2026.zip").write_bytes(packed({"may.csv": rows, "old/june.csv": rows, "README.txt": b"x"}))
    address = f"{NEW}file/?path=orders/2026.zip"
    page = client.get(address)
    assert "names match *.csv" in words(page)
    assert "Read: may.csv, old/june.csv. Not read: README.txt." in words(page)
    change(client, address, page, action="create")
    assert saved()["nodes"][0]["config"]["members"] == {"type": "glob", "value": "*.csv"}
