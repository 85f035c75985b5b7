"""The names that the layers above import from `executors`. None of them belongs to a driver."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from executors import api, errors, model, report, target_database

PUBLIC = (api, errors, model, report, target_database)
FLOWAPP = Path(__file__).parents[2] / "flowapp"


def imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            is_package = node.module == "executors"
            yield from (f"executors.{name.name}" for name in node.names) if is_package else (node.module,)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_five_modules_are_imported_from_above() -> None:
    sources = [path.read_text() for path in FLOWAPP.rglob("*.py")]
    used = {name for source in sources for name in imported_modules(source) if name.partition(".")[0] == "executors"}
    assert used == {module.__name__ for module in PUBLIC}


def functions_of(exported: Any) -> list[Any]:
    if inspect.isfunction(exported):
        return [exported]
    members = vars(exported).items() if inspect.isclass(exported) else ()
    return [inspect.unwrap(member) for name, member in members if inspect.isfunction(member) and name[0] != "_"]


@pytest.mark.parametrize("module", [api, target_database], ids=lambda module: module.__name__)
def test_no_type_of_the_driver_crosses_the_border(module: Any) -> None:
    functions = [function for name in module.__all__ for function in functions_of(getattr(module, name))]
    assert functions
    for function in functions:
        hints = get_type_hints(inspect.unwrap(function), localns=vars(inspect.getmodule(function)))
        assert not [name for name, hint in hints.items() if "psycopg" in f"{hint!r}"], function
