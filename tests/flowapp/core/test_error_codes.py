"""Every code that an error, a warning or an alert may have is declared once, where it is used, and is documented."""

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
from executors.errors import WARNING_CODES as WARNINGS_OF_RUNS
from flowapp.alerts.kinds import ALERT_KINDS
from flowapp.error_codes import ERROR_CODES, WARNING_CODES
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
"""Functions that receive a code, besides the classes derived from FlowError."""
MADE = re.compile(r"(mail|webhook|source)\..+|run\.(discarded|expired)|source\.(delimiter|quote)_unusable")
"""Codes that the source puts together from two parts."""
CATALOGUES = {"codes", "error_codes"}
"""Modules and packages that declare codes."""
WARNS = {"RunWarning"}
ALERTS = {"raise_alert", "alert"}
WARNS_AND_ALERTS = {"_alert_and_warn"}
PASSED_ON = {"kind", "error.code"}
"""Expressions that forward the code of an alert, or use the code of an error for a warning."""


@cache
def trees() -> dict[Path, ast.Module]:
    paths = [path for package in ("ir", "executors", "flowapp") for path in (PROJECT / package).rglob("*.py")]
    return {path: ast.parse(path.read_bytes()) for path in paths if not CATALOGUES & {path.stem, path.parent.name}}


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
    """Yield all codes that are passed to such functions, with their positions."""
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


def given_to(callees: set[str]) -> Iterator[tuple[str, str]]:
    """Codes that are given to these, with their places: written there, or in the constant of the module that is named
    there. Fails where the code comes from elsewhere."""
    for path, tree in trees().items():
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if ast.unparse(call.func).rpartition(".")[2] in callees and call.args:
                place = f"{path.relative_to(PROJECT)}:{call.lineno}"
                found = codes_in(call.args, constants)
                assert found or ast.unparse(call.args[0]) in PASSED_ON, f"{place} gives a code that cannot be read"
                yield from ((code, place) for code in found)


def codes_in(given: list[ast.expr], constants: dict[str, ast.expr]) -> list[str]:
    """The code among the first arguments of a call, or those that it is one of."""
    for argument in given[:3]:
        names = [node.id for node in ast.walk(argument) if isinstance(node, ast.Name) and node.id in constants]
        looked_at = [argument, *(constants[name] for name in names)]
        found = [
            node.value
            for tree in looked_at
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and CODE.fullmatch(str(node.value))
        ]
        if found:
            return found
    return []


def test_each_warning_that_is_given_is_declared() -> None:
    given = dict(given_to(WARNS | WARNS_AND_ALERTS))
    assert {code: place for code, place in given.items() if code not in WARNING_CODES} == {}
    assert set(WARNING_CODES) - given.keys() == set()


def test_each_alert_that_is_raised_is_declared() -> None:
    raised = dict(given_to(ALERTS | WARNS_AND_ALERTS))
    assert {code: place for code, place in raised.items() if code not in ALERT_KINDS} == {}
    assert set(ALERT_KINDS) - raised.keys() == set()


def test_executors_declare_the_warnings_that_they_give() -> None:
    given = {code for code, place in given_to(WARNS | WARNS_AND_ALERTS) if place.startswith("executors/")}
    assert given == set(WARNINGS_OF_RUNS)


@pytest.mark.parametrize("warning", WARNING_CODES.values(), ids=lambda warning: warning.name)
def test_each_warning_is_complete(warning) -> None:
    assert CODE.fullmatch(warning.name)
    assert warning.title.endswith(".")
    assert warning.hint.endswith(".")


@pytest.mark.parametrize("kind", ALERT_KINDS.values(), ids=lambda kind: kind.kind)
def test_each_kind_of_alert_is_complete(kind) -> None:
    assert CODE.fullmatch(kind.kind)
    assert not kind.title.endswith(".")
    assert kind.hint.endswith(".")


def test_each_code_that_is_used_is_declared() -> None:
    assert {code: place for code, place in used() if code not in ERROR_CODES and code not in CODES} == {}


def test_each_code_that_is_declared_is_used() -> None:
    assert {code for code in ERROR_CODES if not MADE.fullmatch(code)} - set(texts()) == set()


def test_each_layer_declares_what_it_raises() -> None:
    """The executors declare the codes that they raise; all others are raised in higher layers."""
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
