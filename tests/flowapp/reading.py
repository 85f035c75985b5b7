"""Helpers to read pages like a user, and a text that is harmful if a page does not escape it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7|add:7 }}&#60;"


def words(answer: Any) -> str:
    """The text of a page, without tags and line breaks."""
    page = re.sub(r"</(td|th|dt|dd|li|p|div|h\d|option)>", " ", answer.content.decode())
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())


def assert_harmless(answer: Any) -> None:
    """The hostile text is on the page, and nothing of it is markup."""
    page = answer.content.decode()
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert HOSTILE in words(answer)
