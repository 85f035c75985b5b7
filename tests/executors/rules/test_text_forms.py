"""`minLength`, `email`, `url`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from executors.rules import row_rule_mask
from ir.rules import Email, MinLength, Url


def violating(rule: Any, texts: list[Any]) -> list[Any]:
    values = pa.array(texts, pa.string())
    return values.filter(row_rule_mask(rule, values)).to_pylist()  # type: ignore[no-any-return]


EMAIL = Email(type="email", field="x", on_fail="skip")
URL = Url(type="url", field="x", on_fail="skip")


def test_length_counts_code_points_and_empty_has_none() -> None:
    rule = MinLength(type="minLength", field="x", on_fail="skip", min=2)
    assert violating(rule, [None, "", "a", "ä", "ab", "😀😀", "e\u0301"]) == ["", "a", "ä"]


@pytest.mark.parametrize(
    "text",
    [
        "a@b.c",
        "first.last+tag@example.co.uk",
        "o'neil_9@x-y.example",
        "müller@exämple.de",
        "用户@例子.公司",
        "a@xn--bcher-kva.example",
        "a" * 64 + "@b.example",
        None,
    ],
)
def test_an_address_passes(text: str | None) -> None:
    assert violating(EMAIL, [text]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a@b",
        "@b.c",
        "a@",
        "a b@c.de",
        "a@b..c",
        ".a@b.c",
        "a.@b.c",
        "a..b@c.de",
        "a@-b.c",
        "a@b-.c",
        "a@b.c\n",
        " a@b.c",
        "a@b@c.de",
        "a@[127.0.0.1]",
        '"a b"@c.de',
        "<a@b.c>",
        "a" * 251 + "@b.c",
        "a@b.c,d@e.f",
    ],
)
def test_what_is_no_address_fails(text: str) -> None:
    assert violating(EMAIL, [text]) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com",
        "https://example.com/",
        "HTTPS://EXAMPLE.com:8443/a/b?c=d&e=%20#f",
        "http://localhost:8000",
        "http://127.0.0.1/x",
        "https://[::1]:5000/",
        "https://exämple.de/straße",
        "https://example.com?x",
        None,
    ],
)
def test_a_web_address_passes(text: str | None) -> None:
    assert violating(URL, [text]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "ftp://example.com",
        "javascript:alert(1)",
        "http://",
        "http:///x",
        "http:/example.com",
        "http://a b.com",
        "http://example.com/a b",
        "http://example.com/\n",
        "http://user:pw@example.com",
        "http://-x.com",
        "http://example.com:port",
        "//example.com",
        'http://example.com/"',
        "http://example.com/<x>",
        "see http://example.com",
    ],
)
def test_what_is_no_web_address_fails(text: str) -> None:
    assert violating(URL, [text]) == [text]


@pytest.mark.parametrize("rule", [EMAIL, URL])
def test_no_text_takes_long(rule: Any) -> None:
    for text in ("a." * 50_000 + "@", "a@" + "a-" * 50_000, "http://" + "a-" * 50_000 + ".", "http://a" + "." * 99_999):
        assert violating(rule, [text]) == [text]
