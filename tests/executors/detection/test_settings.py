"""Detects encoding, delimiter, quote, header and format of typical files."""

from __future__ import annotations

import lzma

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from executors.detection import Detection, GivenSettings, detect
from executors.errors import Failure, Terminal
from tests.properties import examples

SALES = (
    "Kunde;Tag;Betrag\nMüller;01.02.2024;1.234,56\nWeiß;13.02.2024;99,00\nGroß;2024-02-15;5,10\n"
    "Öz;20.02.2024;12.345,00\n"
)


def look(content: str | bytes, name: str = "a.csv", *, is_whole: bool = True, **given: object) -> Detection:
    head = content.encode() if isinstance(content, str) else content
    return detect(head, name, is_whole=is_whole, given=GivenSettings(**given))  # type: ignore[arg-type]


def codes(found: Detection) -> list[str]:
    return [problem.code for problem in found.problems]


def names(found: Detection) -> list[str]:
    return [column.name for column in found.columns]


@pytest.mark.parametrize(
    ("content", "settings", "first"),
    [
        pytest.param(
            SALES.encode("cp1252"),
            {"delimiter": ";", "encoding": "cp1252", "header": True},
            ("Müller", "01.02.2024", "1.234,56"),
            id="windows",
        ),
        pytest.param(b"id\tname\n1\tx\n", {"type": "tsv", "delimiter": "\t"}, ("1", "x"), id="tab"),
        pytest.param(b"id|t|v\n1|a, b|x; y\n2|c, d|z; w\n", {"delimiter": "|"}, ("1", "a, b", "x; y"), id="pipe"),
        pytest.param(
            b'id,t,n\n1,"a;b\nc;d",2\n2,"x ""y"", z",3\n',
            {"delimiter": ",", "quote": '"'},
            ("1", "a;b\nc;d", "2"),
            id="quotes around delimiters and line ends",
        ),
        pytest.param(b"id,t\n1,'a,b'\n2,'c,d'\n3,'e,f'\n", {"quote": "'"}, ("1", "a,b"), id="single quotes"),
        pytest.param(b"1,5;2,25\n4,1;5,2\n", {"delimiter": ";", "header": False}, ("1,5", "2,25"), id="no header"),
        pytest.param(b"\xef\xbb\xbfid,name\n1,x\n", {"encoding": "utf-8"}, ("1", "x"), id="mark"),
        pytest.param("id;ä\n1;ö\n".encode("utf-16"), {"delimiter": ";", "encoding": "utf-16"}, ("1", "ö"), id="utf-16"),
        pytest.param(b"id,name\r1,x\r2,y\r", {"delimiter": ",", "header": True}, ("1", "x"), id="carriage returns"),
        pytest.param(b"name\nfoo bar\nbaz, qux\n", {"header": True}, ("foo bar",), id="one column"),
        pytest.param(b'{"id": 1, "x": {"a": 2}}\n{"id": 2}\n', {"type": "jsonl"}, ("1", '{"a": 2}'), id="json lines"),
        pytest.param(b'[\n {"id": 1}, {"id": 2}]', {"type": "json"}, ("1",), id="json array"),
        pytest.param(
            "имя;город\nИван;Москва\nПётр;Казань\n".encode("cp1251"),
            {"encoding": "cp1251"},
            ("Иван", "Москва"),
            id="cyrillic",
        ),
    ],
)
def test_settings_are_found_and_the_rows_are_read_by_them(content, settings, first):
    found = look(content)

    assert settings.items() <= found.format.to_document().items()
    assert found.rows[0] == first


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("line", ["sep=;\r\n", '"SEP=;"\n'])
def test_a_first_line_that_names_the_delimiter_is_no_row(line, encoding):
    found = look(f"{line}id;a,b\n1;x,y\n2;z,z\n".encode(encoding))

    assert (found.format.to_document()["delimiter"], names(found)) == (";", ["id", "a,b"])
    assert found.rows == (("1", "x,y"), ("2", "z,z"))
    assert codes(found)[0] == "delimiter.named"


def test_a_given_delimiter_is_stronger_than_the_one_that_the_first_line_names():
    found = look("sep=;\nid,n\n1,2\n", delimiter=",")
    assert (names(found), found.rows) == (["id", "n"], (("1", "2"),))


def test_a_guessed_encoding_is_reported():
    [problem] = look(SALES.encode("cp1252")).problems
    assert problem.message == "The file is not UTF-8; it looks like Windows-1252."


def test_utf16_without_a_byte_order_mark_is_reported():
    found = look(("id;name\n" + "1;ö\n" * 30).encode("utf-16-le"))
    assert (found.format.to_document()["encoding"], codes(found)) == ("utf-16-le", ["encoding.guessed"])


def test_a_broken_place_in_utf8_does_not_change_the_encoding():
    found = look("id,name\n1,ä\n2,ö\n3,ü\n".encode() + b"4,\xe4\n")
    assert found.format.to_document()["encoding"] == "utf-8"
    assert "encoding.broken" in codes(found)
    assert found.rows_read == 3


def test_a_character_cut_by_the_end_of_the_head_is_no_fault():
    content = ("id,name\n" + "1,ä\n" * 10).encode()
    found = look(content[:-2], is_whole=False)
    assert (codes(found), found.rows_read, found.is_whole) == ([], 9, False)


def test_a_row_cut_by_the_end_of_the_head_is_left_out():
    found = look('id,text\n1,"a\nb"\n2,"c\nd', is_whole=False)
    assert (found.rows, codes(found)) == ((("1", "a\nb"),), [])


def test_the_elements_before_a_cut_are_read():
    assert look('[{"id": 1}, {"id": 2}, {"id": 3', "a.json", is_whole=False).rows == (("1",), ("2",))


def test_a_file_of_text_alone_says_that_its_header_is_a_guess():
    found = look("name,city\nAnna,Graz\nBert,Wien\n")
    assert (names(found), codes(found)) == (["name", "city"], ["header.unsure"])


def test_names_that_are_years_are_names():
    assert names(look("country,2019,2020,2021\nAT,1.5,2.5,3.5\nDE,4,5,6\n")) == ["country", "2019", "2020", "2021"]


def test_a_repeated_first_row_is_no_header():
    assert look("yes,red\nno,blue\nyes,red\n").format.to_document()["header"] is False


def test_a_header_that_comes_again_among_typed_rows_is_a_header():
    found = look("id,x\n1,2\nid,x\n3,4\n")
    assert (names(found), codes(found)) == (["id", "x"], ["header.repeated"])
    assert "Record 3" in found.problems[0].message


def test_a_header_alone_has_no_rows():
    found = look("id,name,amount\n")
    assert (names(found), found.rows, codes(found)) == (["id", "name", "amount"], (), ["rows.none"])


def test_lines_above_the_table_are_reported():
    [first, *_] = look("Report\nid,a,b\n1,2,3\n4,5,6\n7,8,9\n").problems
    assert (first.code, "begin at record 2" in first.message) == ("header.below", True)


def test_delimiters_at_the_ends_of_rows_are_reported():
    assert codes(look("a,b\n1,2,\n3,4,\n")) == ["rows.trailing_delimiter"]
    assert "column.trailing" in codes(look("a,b,\n1,2,\n3,4,\n"))


def test_decimal_commas_below_one_name_are_one_column():
    found = look("x\n1,5\n2,25\n")
    assert [column.type for column in found.columns] == ["decimal(18,2)"]


def test_json_in_another_encoding_is_refused_as_by_a_run():
    with pytest.raises(Failure) as refused:
        look('[{"a": 1}]'.encode("utf-16"))
    assert refused.value.code == "source.encoding_differs"


def test_a_row_with_too_few_values_is_reported_with_its_line():
    [problem] = look("id,a,b\n1,2,3\n1,2\n4,5,6\n").problems
    assert (problem.code, problem.line) == ("row.unreadable", 3)
    assert "expected 3 cells, found 2" in problem.message


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "detection.empty"),
        (b"\xef\xbb\xbf\r\n\r\n", "detection.empty"),
        (lzma.compress(b"id\n1\n"), "detection.unreadable"),
        (b"PK\x03\x04" + b"x" * 40, "detection.unreadable"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 40, "detection.unreadable"),
        (bytes(range(256)) * 8, "detection.binary"),
        (b'{\n  "id": 1,\n  "name": "x"\n}\n', "detection.one_object"),
        (b'id,text\n1,"never closed\n', "source.quote_not_closed"),
    ],
)
def test_what_no_format_reads_is_refused_by_name(content, code):
    with pytest.raises(Failure) as refused:
        look(content)
    assert (refused.value.code, bool(refused.value.hint)) == (code, True)


def test_given_settings_are_kept_and_the_rest_is_detected():
    found = look(SALES.encode("cp1252"), encoding="cp1250", header=False)
    assert found.format.to_document() == {
        "type": "csv",
        "delimiter": ";",
        "quote": '"',
        "encoding": "cp1250",
        "header": False,
    }


def test_given_texts_for_null_are_all_there_are():
    found = look("id,n\n1,NA\n2,none\n3,5\n", null_values=("none",))
    assert [row[1] for row in found.rows] == ["NA", None, "5"]
    assert found.format.to_document()["nullValues"] == ["none"]


@pytest.mark.parametrize(
    "given",
    [
        {"type": "pdf"},
        {"delimiter": ";;"},
        {"delimiter": "é"},
        {"quote": "\n"},
        {"encoding": "rot13"},
        {"delimiter": '"', "quote": '"'},
    ],
)
def test_settings_that_no_file_can_have_are_refused(given):
    with pytest.raises(Terminal) as refused:
        look("a,b\n1,2\n", **given)
    assert refused.value.code == "detection.setting_unusable"


def test_fifteen_hundred_columns_are_read():
    header = ",".join(f"c{n}" for n in range(1500))
    found = look(header + "\n" + ",".join(["1"] * 1500) + "\n" + ",".join(["2"] * 1500) + "\n")
    assert (len(found.columns), {column.type for column in found.columns}) == (1500, {"integer"})


@settings(max_examples=examples(300), deadline=None)
@hypothesis_given(st.binary(max_size=400), st.booleans())
def test_no_bytes_raise_anything_but_a_refusal(content, is_whole):
    try:
        detect(content, "a.csv", is_whole=is_whole)
    except Failure as refused:
        assert refused.hint  # noqa: PT017


@settings(max_examples=examples(300), deadline=None)
@hypothesis_given(st.text("0123456789.,;:-/\"'|\t\n{}[]aNT +é", max_size=200), st.booleans())
def test_no_text_raises_anything_but_a_refusal(content, is_whole):
    try:
        detect(content.encode(), "a.csv", is_whole=is_whole)
    except Failure as refused:
        assert refused.hint  # noqa: PT017
