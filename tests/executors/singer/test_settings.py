"""Secrets of a connection in the log of a tap, and the levels of its lines."""

from __future__ import annotations

import base64
import io
import json

import pytest

from executors.singer import process
from executors.singer.process import _level_of, _whole_lines
from executors.singer.settings import MASK, TapSettings

KEY = "-----BEGIN PRIVATE KEY-----\nc3VwZXIgc2VjcmV0IGtleQ\nbW9yZSBvZiB0aGUga2V5\n-----END PRIVATE KEY-----\n"


def masked(text: str, **secret: object) -> str:
    return TapSettings(dict(secret), dict(secret)).masked(text)


@pytest.mark.parametrize(
    "shown",
    [KEY, json.dumps({"key": KEY}), repr({"key": KEY}), base64.b64encode(KEY.encode()).decode(), *KEY.splitlines()],
    ids=["plain", "json", "repr", "base64", *(f"line {n}" for n in range(1, 5))],
)
def test_every_form_of_a_secret_is_masked(shown: str) -> None:
    text = masked(f"INFO settings {shown}", key=KEY)
    assert MASK in text
    assert "c3VwZXIgc2VjcmV0" not in text


def test_a_long_line_is_read_as_a_whole_and_its_rest_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LONGEST_LINE", 10)
    assert list(_whole_lines(io.BytesIO(b"short\n0123456789abcdefghijkl\nend"))) == [b"short\n", b"0123456789", b"end"]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("ERROR cannot sync", "ERROR"),
        ("time=1 name=tap level=WARNING message=slow", "WARNING"),
        ("INFO sync of stream error_log: 0 ERRORS", "INFO"),
        ("2024-01-01 INFO last ERROR was yesterday", "INFO"),
        ("TERRORS", ""),
    ],
)
def test_the_first_level_of_a_line_counts(line: str, level: str) -> None:
    assert _level_of(line) == level
