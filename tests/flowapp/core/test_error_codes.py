"""Every code that an error may have is declared once, where it is raised, and is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from pathlib import Path

import pytest

from executors.errors import ERROR_CODES as OF_RUNS
from flowapp.error_codes import ERROR_CODES
from ir.codes import CODES

PROJECT = Path(__file__).parents[3]
CODE = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
RAISERS = {
    "FlowError",
    "_State",
    "_answered",
    "Refusal",
    "problem",
    "problem_response",
    "_answer",
    "refuse",
    "_condition",
}
"""What takes a code, beside the classes below FlowError."""
MADE = re.compile(r"(mail|webhook|source)\..+|run\.(discarded|expired)|source\.(delimiter|quote)_unusable")
"""Codes that the source puts together from two parts."""
CATALOGUES = {"codes.py", "error_codes.py"}


@cache
def trees() -> dict[Path, ast.Module]:
    paths = [path for package in ("ir", "executors", "flowapp") for path in (PROJECT / package).rglob("*.py")]
    return {path: ast.parse(path.read_bytes()) for path in paths if path.name not in CATALOGUES}


def subclasses_of_flow_error() -> set[str]:
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    known = {"FlowError"}
    while more := {name for name, of in bases.items() if of & known and name not in known}:
        known |= more
    return known


def used() -> Iterator[tuple[str, str]]:
    """Codes that are given to what takes one, with their places."""
    names = RAISERS | subclasses_of_flow_error() | {"kind"}
    for path, tree in trees().items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func).rpartition(".")[2]
            if called in names or (called == "__init__" and len(call.args) > 1):
                for given in call.args[:3]:
                    if isinstance(given, ast.Constant) and CODE.fullmatch(str(given.value)):
                        yield given.value, f"{path.relative_to(PROJECT)}:{call.lineno}"


def texts() -> Iterator[str]:
    for tree in trees().values():
        yield from (
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )


def test_each_code_that_is_used_is_declared() -> None:
    assert {code: place for code, place in used() if code not in ERROR_CODES and code not in CODES} == {}


def test_each_code_that_is_declared_is_used() -> None:
    assert {code for code in ERROR_CODES if not MADE.fullmatch(code)} - set(texts()) == set()


def test_each_layer_declares_what_it_raises() -> None:
    """What the executors raise they declare; what is left is raised above them."""
    raised = {code for code, place in used() if place.startswith("executors/")}
    assert raised - set(OF_RUNS) - set(CODES) == set()
    assert {code for code in OF_RUNS if not MADE.fullmatch(code)} <= {
        text
        for path, tree in trees().items()
        if path.is_relative_to(PROJECT / "executors")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(text := node.value, str)
    }


@pytest.mark.parametrize("code", ERROR_CODES.values(), ids=lambda code: code.name)
def test_each_code_is_complete(code) -> None:
    assert CODE.fullmatch(code.name)
    assert code.title.endswith(".")
    assert code.hint.endswith((".", "…"))
    assert HTTPStatus(code.status) >= 400
    assert code.name not in CODES  # a diagnostic's code is declared there


def test_families_have_one_spelling() -> None:
    families = {code.partition(".")[0] for code in (*ERROR_CODES, *CODES)}
    assert {family for family in families if f"{family}s" in families} == set()


def test_the_page_is_current() -> None:
    subprocess.run([sys.executable, PROJECT / "tools" / "errors_page.py", "--check"], check=True)
