"""The next page in Link headers, in each form that RFC 8288 allows."""

from __future__ import annotations

import pytest

from executors.http_api.links import next_link


@pytest.mark.parametrize(
    "header",
    [
        '<u>; rel="next"',
        "<u>;rel=next",
        "<u> ; REL = NEXT",
        '<u>; rel="next last"',
        '<u>; title="a=b, <x>; rel=first"; rel="next"',
        '<u>; title="a\\"b"; rel="next"',
        '<a>; rel="first", <u>; rel="next", <b>; rel="last"',
        "<a>;rel=first,<u>;rel=next",
        '<a>; rel="first"; rel="next", <u>; rel="next"',
        '<a>; ???, <u>; rel="next"',
    ],
)
def test_the_next_page_is_found(header: str) -> None:
    assert next_link(header) == "u"


def test_signs_in_an_address_are_part_of_it() -> None:
    assert next_link('<https://x/y;s=1?a=1,2&b=3>; rel="next"') == "https://x/y;s=1?a=1,2&b=3"


@pytest.mark.parametrize("header", ["", "next", '<u>; rel="prev"', '<u>; title="rel=next"', "<u", "<u>; nextrel=next"])
def test_other_links_are_not_the_next_page(header: str) -> None:
    assert next_link(header) is None
