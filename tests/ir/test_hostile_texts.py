"""Parsing returns diagnostics quickly for any text in any field of a document.

The fields are those of the valid cases, which have one of every kind, so that new fields are tested without changes
here.
"""

from __future__ import annotations

import json
import os
import random
import time
from contextlib import suppress
from functools import cache
from unittest.mock import patch

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.expressions import parse_expression
from ir.pointers import ROOT, Pointer, value_at
from tests.ir.cases import FOLDER

SEED = int(os.environ.get("FLOW_FUZZ_SEED", "1"))
SECONDS, SLACK = 1.0, 2.0
OPENINGS = (
    "(",
    "f(",
    "cast(",
    "array(",
    "map(",
    "struct(",
    "date(",
    "decimal(1,",
    "interval ",
    "interval(",
    "not ",
    "- ",
    "~",
    "exists(",
    "case ",
    "case when ",
    "case when (",
    "(select ",
    "a in (",
    "a not in (",
    "[",
    "a[",
    "{",
    "{fn ",
    "array<",
    "map<int,",
    "struct<a:",
    "cast(a as array<",
    "a::",
    "a between ",
    "a like ",
    "a is ",
    "a,",
    "x->",
    "(x, y)->",
    "any(",
    "f(distinct ",
    "values(",
    "if(",
    "nullable(",
    "a over(",
    "timestamp '",
    "'",
    '"',
    "`",
    "/*",
    "--",
    "$1 ",
    ":a ",
    "?",
    "@a ",
    "a.",
    "row(",
    "unnest(",
    "with a as (",
    "a collate ",
    "a || ",
    "a and ",
    "a = ",
    "trim(both ",
    "extract(",
    "%",
    "select 1 union ",
    "(?=",
    "(?:",
    "[[:",
    "(a|",
    "a{9}",
    "\\",
    "{YYYY",
    "*",
    "**",
    "../",
    "https://",
    "#/",
    "0x",
    "1e9",
    "\ud800",
    "\0",
    "\u202e",
    "é",
    "DECIMAL(MAX)",
    "CAST(x AS DECIMAL(MAX))",
)
CLOSINGS = {"(": ")", "[": "]", "{": "}", "<": ">", "'": "'"}


@cache
def places() -> list[tuple[str, Pointer]]:
    """Return the position of every text in every valid case."""
    cases = [path for path in sorted((FOLDER / "valid").glob("*.json")) if path.stem.count(".") == 0]
    return [(path.name, at) for path in cases for at in _texts(json.loads(path.read_text()), ROOT)]


def _texts(value, at):
    if isinstance(value, str):
        yield at
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in members:
        yield from _texts(part, at / name)


@cache
def expressions() -> list[tuple[str, Pointer]]:
    """Return the positions of texts that are parsed as expressions."""
    read = set()

    def note(text: str):
        read.add(text)
        return parse_expression(text)

    with patch("ir.expressions.checking.parse_expression", note):
        for name in {name for name, _ in places()}:
            with suppress(InvalidPipeline):  # some cases need files next to them, such as their tables
                parsePipelineIR(_document(name))
    return [(name, at) for name, at in places() if value_at(_document(name), at) in read]


def _document(name: str):
    return json.loads((FOLDER / "valid" / name).read_text())


def hostile_text(source: random.Random) -> str:
    """Return an opening that is repeated many times, closed or not."""
    pattern = "".join(source.choice(OPENINGS) for _ in range(source.randint(1, 3)))
    times = source.choice((1, 2, 8, 20, 28, 300, 3_000))
    closing = "".join(CLOSINGS.get(sign, "") for sign in reversed(pattern)) * source.randint(0, 1)
    return (pattern * times + source.choice(("a", "1", "")) + closing * times)[:20_000]


def with_text(name: str, at: Pointer, text: str):
    document = _document(name)
    value_at(document, at.parent)[at[-1]] = text
    return document


def try_texts(seed: int, seconds: float) -> None:
    source, end, tried = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        name, at = source.choice(source.choice((places(), expressions())))
        text = hostile_text(source)
        began = time.thread_time()
        try:
            parsePipelineIR(with_text(name, at, text), seconds=SECONDS)
        except InvalidPipeline:
            pass
        except Exception as error:
            raise AssertionError(f"FLOW_FUZZ_SEED={seed}: {name} {at} {text[:300]!r}") from error
        took, tried = time.thread_time() - began, tried + 1
        assert took < SECONDS + SLACK, f"FLOW_FUZZ_SEED={seed}: {took:.1f} s for {name} {at} {text[:300]!r}"
    assert tried > 20


def test_the_places_are_many():
    assert len(places()) > 200
    assert {at[-1] for _, at in expressions()} >= {"where", "when", "expression"}


def test_no_text_makes_the_parser_fail_or_work_for_long():
    try_texts(SEED, 5)


@pytest.mark.slow
def test_no_text_makes_the_parser_fail_or_work_for_long_in_a_long_time():
    try_texts(int(os.environ.get("FLOW_FUZZ_SEED") or time.time_ns() % 10**9), 200)
