"""The format that is detected for a file that does not match its settings."""

from __future__ import annotations

import pytest

from executors.formats.format_mismatches import find_mismatches, guess_encoding
from ir.formats import Csv, Json, Jsonl, Tsv

GERMAN = "Bestellnr;Kunde;Betrag\n1;Müller;12,50\n2;Jürgen Größe;7,00\n3;Anna;1,99\n"
POLISH = "id;miasto\n1;Łódź\n2;Kraków, świętej Anny\n3;Gdańsk\n"
RUSSIAN = "id;город\n1;Москва\n2;Санкт-Петербург\n"
FRENCH = "id;nom\n1;Hélène\n2;François « le Grand »\n3;L’œuvre à Noël\n"


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (GERMAN, "cp1252", "Windows-1252"),
        (FRENCH, "cp1252", "Windows-1252"),
        (GERMAN, "latin-1", "Windows-1252"),
        (POLISH, "cp1250", "Windows-1250"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (GERMAN, "cp850", "cp850"),
        (GERMAN, "mac-roman", "Mac Roman"),
        (GERMAN, "utf-16", "UTF-16-LE"),
        (GERMAN, "utf-16-be", "UTF-16-BE"),
    ],
)
def test_the_encoding_of_a_text_is_reported(text: str, encoding: str, name: str) -> None:
    head = text.encode(encoding)
    assert guess_encoding(head)[1] == name
    assert find_mismatches(head, Csv(type="csv", delimiter=";")) == (f"not UTF-8, looks like {name}",)


def test_of_encodings_that_read_a_text_alike_the_more_likely_one_is_reported() -> None:
    text = "Größe – Maß\nMüller & Söhne\nBäckerei Köhler\nCafé „Zum Bär“\nWeiß\n"
    assert guess_encoding(f"{text}Žirafe\n".encode("cp1252")) == ("cp1252", "Windows-1252")
    assert guess_encoding("Škoda\nTomáš\nžena\n".encode("cp1250")) == ("cp1250", "Windows-1250")


def test_bytes_of_no_likely_encoding_are_given_no_name() -> None:
    assert find_mismatches(b"id,x\n1,\x81\x8d\x90\x9d\xff\xfe\n", Csv(type="csv")) == ("not UTF-8",)


def test_the_configured_encoding_is_named_if_it_is_not_the_file_s() -> None:
    head = "id,name\n1,Ann\u00e9\n".encode("cp1252")
    assert find_mismatches(head, Csv(type="csv", encoding="ascii")) == ("not ascii, looks like Windows-1252",)


@pytest.mark.parametrize(
    ("delimiter", "shown"),
    [(";", "';'"), ("\t", "a tab"), ("|", "'|'"), (",", "','")],
    ids=["semicolon", "tab", "bar", "comma"],
)
def test_the_delimiter_of_a_file_is_reported(delimiter: str, shown: str) -> None:
    head = "id;name;amount\n1;Ann;3\n2;Bob;4\n".replace(";", delimiter).encode()
    configured = Tsv(type="tsv") if delimiter == "," else Csv(type="csv")
    mismatches = () if delimiter == configured.delimiter else (f"one column, {shown} looks like the delimiter",)
    assert find_mismatches(head, configured) == mismatches


def test_a_decimal_comma_does_not_hide_the_delimiter() -> None:
    assert find_mismatches(GERMAN.encode(), Csv(type="csv")) == ("one column, ';' looks like the delimiter",)


def test_both_faults_of_one_file_are_reported() -> None:
    mismatches = ("not UTF-8, looks like Windows-1252", "one column, ';' looks like the delimiter")
    assert find_mismatches(GERMAN.encode("cp1252"), Csv(type="csv")) == mismatches


def test_a_delimiter_in_quotes_is_text() -> None:
    assert find_mismatches(b'note\n"a;b"\n"c;d"\n', Csv(type="csv")) == ()


@pytest.mark.parametrize(
    "head", [b"", b"\n\n", b"id\n1\n2\n", b"id,name\n1,Ann\n", b"\xef\xbb\xbfid,name\n1,\xc3\xa9\n"]
)
def test_a_file_that_fits_gives_no_clue(head: bytes) -> None:
    assert find_mismatches(head, Csv(type="csv")) == ()


def test_a_sign_that_is_cut_at_the_end_of_what_is_read_is_no_clue() -> None:
    line = "1,é\n".encode()
    assert find_mismatches(b"id,name\n" + line * 20_000 + line[:-2], Csv(type="csv")) == ()


def test_json_files_are_looked_at_too() -> None:
    assert find_mismatches('[{"a": "é"}]'.encode("cp1252"), Json(type="json")) == (
        "not UTF-8, looks like Windows-1252",
    )
    assert find_mismatches(b'[{"a": 1}]\n', Jsonl(type="jsonl"))[0].startswith("a JSON array")
