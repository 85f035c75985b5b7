"""XML: which elements are records, which values they have, and documents that are refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from executors.detection.detect import detect
from executors.detection.model import GivenSettings
from executors.errors import InvalidContent, Terminal
from executors.formats import xml_records
from executors.model import FileScan, SourceFile
from ir.formats import Xml


def fmt_of(path: str, *repeated: str) -> Xml:
    return Xml.read({"type": "xml", "recordPath": path, "repeated": list(repeated)})


def scan(folder: Path, content: str | bytes, fmt: Xml) -> FileScan:
    path = folder / "a.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return xml_records.scan(SourceFile.found(0, str(path), path.name, path.stat()), fmt)


def read(folder: Path, content: str | bytes, fmt: Xml) -> tuple[FileScan, list[dict[str, Any]]]:
    scanned = scan(folder, content, fmt)
    batches = xml_records.read(scanned.splits[0], fmt, scanned.fields)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["_flow_record"] for row in rows] == list(range(1, scanned.records + 1))
    return scanned, rows


def values(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.startswith("_flow_")} for row in rows]


def test_elements_and_attributes_of_a_record_are_its_columns(tmp_path: Path) -> None:
    document = """<?xml version="1.0" encoding="ISO-8859-1"?>
    <!-- made by a shop -->
    <s:orders xmlns:s="urn:shop" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
      <s:order id="1"><name>Jos\u00e9 &amp; &lt;b&gt;</name><note/><at xsi:nil="true"/></s:order>
      <order id="2"><name><![CDATA[a<b]]></name></order>
    </s:orders>"""
    scanned, rows = read(tmp_path, document.encode("latin-1"), fmt_of("orders/order"))
    assert [(field.name, str(field.type)) for field in scanned.fields] == [
        ("_id", "string"),
        ("name", "string"),
        ("note", "string"),
        ("at", "string"),
    ]
    assert values(rows) == [
        {"_id": "1", "name": "José & <b>", "note": "", "at": None},
        {"_id": "2", "name": "a<b", "note": None, "at": None},
    ]


def test_elements_in_elements_become_json_and_repeated_ones_are_always_arrays(tmp_path: Path) -> None:
    document = (
        '<orders><order><line n="1">x</line><line n="2"><sku>a</sku></line><to><city>Bern</city></to></order>'
        "<order><line>y</line><to>pick up</to></order></orders>"
    )
    scanned, rows = read(tmp_path, document, fmt_of("/orders/order", "line"))
    assert [(field.name, str(field.type)) for field in scanned.fields] == [("line", "json"), ("to", "string")]
    assert [json.loads(row["line"]) for row in rows] == [
        [{"_n": "1", "_value": "x"}, {"_n": "2", "sku": "a"}],
        ["y"],
    ]
    assert [row["to"] for row in rows] == ['{"city": "Bern"}', "pick up"]


def test_a_record_that_repeats_another_element_is_rejected_whole(tmp_path: Path) -> None:
    document = "<r><a><x>1</x></a><a><x>2</x><x>3</x></a><a><x>4</x></a></r>"
    _, rows = read(tmp_path, document, fmt_of("r/a"))
    assert [row["x"] for row in rows] == ["1", None, "4"]
    assert rows[1]["_flow_bad"] == "the element 'x' is repeated; the format does not list it as repeated"
    assert rows[1]["_flow_raw"] == "<a><x>2</x><x>3</x></a>"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ('<a id="1" n:id="2"/>', "two attributes have the name 'id'; namespaces are not compared"),
        ('<a id="1"><_id>2</_id></a>', "the element '_id' stands beside the attribute 'id'"),
        ('<a><x i:nil="true">1</x></a>', "the element 'x' is nil but has content"),
        ("<a>1<_value>2</_value></a>", "the element '_value' stands beside a text"),
    ],
)
@pytest.mark.parametrize("repeated", [(), ("_id",)], ids=["once", "repeated"])
def test_a_record_with_two_values_of_one_name_is_rejected(
    tmp_path: Path, record: str, reason: str, repeated: tuple[str, ...]
) -> None:
    spaces = 'xmlns:n="urn:n" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'
    _, rows = read(tmp_path, f"<r {spaces}>{record}<a><x>2</x></a></r>", fmt_of("r/a", *repeated))
    assert [(row["x"], row["_flow_bad"]) for row in rows] == [(None, reason), ("2", None)]


def test_the_attributes_of_a_nil_element_are_not_lost(tmp_path: Path) -> None:
    document = (
        '<r xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><a><x i:nil="true" cur="EUR"/></a>'
        '<a><x i:nil="1"/></a><a i:nil="true"/></r>'
    )
    _, rows = read(tmp_path, document, fmt_of("r/a"))
    assert [row["x"] for row in rows] == ['{"_cur": "EUR"}', None, None]


def test_text_beside_elements_is_not_lost(tmp_path: Path) -> None:
    _, rows = read(tmp_path, "<r><a>one <b>two</b> three</a><a>four</a></r>", fmt_of("r/a"))
    assert values(rows) == [{"b": "two", "_value": "one  three"}, {"b": None, "_value": "four"}]


def test_text_around_comments_is_one_text(tmp_path: Path) -> None:
    _, rows = read(tmp_path, "<r><a><b>one<!-- c -->two<?p i?>three<![CDATA[ & four]]></b></a></r>", fmt_of("r/a"))
    assert values(rows) == [{"b": "onetwothree & four"}]


def test_only_elements_at_the_path_are_records(tmp_path: Path) -> None:
    document = "<r><a><id>1</id><a><id>2</id></a></a><b><a><id>3</id></a></b><a><id>4</id></a></r>"
    _, rows = read(tmp_path, document, fmt_of("r/a"))
    assert [(row["id"], row["a"]) for row in rows] == [("1", '{"id": "2"}'), ("4", None)]
    _, rows = read(tmp_path, document, fmt_of("*/*/a"))
    assert [row["id"] for row in rows] == ["2", "3"]


def test_a_document_of_one_record(tmp_path: Path) -> None:
    _, rows = read(tmp_path, "<order><id>1</id></order>", fmt_of("order"))
    assert values(rows) == [{"id": "1"}]


@pytest.mark.parametrize("content", ["", "<orders/>", "<orders></orders>\n"], ids=["empty", "short", "root"])
def test_a_document_without_records_is_blank(tmp_path: Path, content: str) -> None:
    scanned = scan(tmp_path, content, fmt_of("orders/order"))
    assert (scanned.records, scanned.is_blank, scanned.warnings) == (0, True, ())


def test_a_document_with_other_elements_only_is_warned_about(tmp_path: Path) -> None:
    scanned = scan(tmp_path, "<orders><ordr/></orders>", fmt_of("orders/order"))
    assert scanned.warnings == (
        "No element is at the record path orders/order; the first element below the root is orders/ordr.",
    )


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><r><x>&b;</x></r>'
EXTERNAL = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r><x>&a;</x></r>'


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("<r><x>1</x>", "source.malformed"),
        ("<r><x>1</y></r>", "source.malformed"),
        ("<r><x>1</x></r><r/>", "source.malformed"),
        (b"<r><x>\xff</x></r>", "source.malformed"),
        ("id,name\n1,x\n", "source.malformed"),
        ("<r>" + "<x>" * 300 + "</x>" * 300 + "</r>", "source.malformed"),
        (BOMB, "source.malformed"),
        (EXTERNAL, "source.malformed"),
        ('<!DOCTYPE r SYSTEM "http://127.0.0.1:1/r.dtd"><r><x>1</x></r>', "source.malformed"),
        ("<data><x>1</x></data>", "source.record_path_unknown"),
        ("<r><y>" + "<z>1</z>" * (3 << 20) + "</y></r>", "source.record_too_long"),
    ],
    ids=["cut", "crossed", "two-roots", "bytes", "csv", "deep", "entities", "external", "dtd", "root", "long"],
)
def test_a_document_that_cannot_be_read_is_refused(tmp_path: Path, content: str | bytes, code: str) -> None:
    with pytest.raises(InvalidContent) as refused:
        scan(tmp_path, content, fmt_of("r/x"))
    assert refused.value.code == code


def test_a_compressed_document_is_read(tmp_path: Path) -> None:
    _, rows = read(tmp_path, gzip.compress(b"<r><x><id>1</id></x></r>"), fmt_of("r/x"))
    assert values(rows) == [{"id": "1"}]


def test_all_records_of_many_blocks_arrive(tmp_path: Path) -> None:
    records = "".join(f"<x><id>{n}</id><text>{'é' * (n % 100)}</text></x>" for n in range(30_000))
    _, rows = read(tmp_path, f"<r>{records}</r>", fmt_of("r/x"))
    assert [(int(row["id"]), len(row["text"])) for row in rows] == [(n, n % 100) for n in range(30_000)]


ORDERS = "<orders><made>now</made>{}</orders>".format(
    "".join(f'<order id="{n}"><day>2024-01-0{n}</day><line>a</line><line>b</line></order>' for n in range(1, 6))
)


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "head"])
def test_the_record_path_and_the_repeated_elements_are_detected(is_whole: bool) -> None:
    head = ORDERS.encode() if is_whole else ORDERS[: ORDERS.index('<order id="5">') + 20].encode()
    found = detect(head, "a.xml", is_whole=is_whole)
    assert (found.format.type, found.format.record_path, found.format.repeated) == ("xml", "orders/order", ["line"])
    assert [(column.name, column.type) for column in found.columns] == [
        ("_id", "integer"),
        ("day", "date"),
        ("line", "json"),
    ]
    assert found.rows_read == (5 if is_whole else 4)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("<ids><id>1</id><id>2</id></ids>", "ids/id"),
        ("<a><meta><by>x</by></meta><rows><row><id>1</id></row><row><id>2</id></row></rows></a>", "a/rows/row"),
        ("<orders><order><id>1</id></order></orders>", "orders/order"),
        ("<order><id>1</id></order>", "order"),
        ('\ufeff<?xml version="1.0"?><r><x a="1"/><x a="2"/></r>', "r/x"),
    ],
)
def test_the_outermost_repeated_elements_are_the_records(document: str, path: str) -> None:
    found = detect(document.encode(), "a.txt", is_whole=True)
    assert (found.format.type, found.format.record_path) == ("xml", path)


@pytest.mark.parametrize("text", ["<b>,c\n1,2\n", "<5,x\n1,2\n", "a,b\n<x/>,1\n"])
def test_a_table_of_texts_that_begins_like_xml_is_none(text: str) -> None:
    assert detect(text.encode(), "a.csv", is_whole=True).format.type == "csv"


def test_a_given_record_path_is_used() -> None:
    found = detect(ORDERS.encode(), "a.xml", is_whole=True, given=GivenSettings(record_path="orders/order/line"))
    assert [row for (row,) in found.rows][:3] == ["a", "b", "a"]
    with pytest.raises(Terminal) as refused:
        detect(ORDERS.encode(), "a.xml", is_whole=True, given=GivenSettings(record_path="orders//order"))
    assert refused.value.code == "detection.setting_unusable"
