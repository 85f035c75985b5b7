"""What the package imports, it asks for by name: what only comes with another package may go with its next version."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGES = ("ir", "executors", "flowapp")


def imported() -> set[str]:
    """The packages that the package's modules import, without Python's own and itself."""
    paths = [path for package in PACKAGES for path in (PROJECT / package).rglob("*.py")]
    modules = {name for path in paths for node in ast.walk(ast.parse(path.read_bytes())) for name in names_in(node)}
    return {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names, *PACKAGES}


def names_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_each_import_is_a_dependency_by_name() -> None:
    wanted = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    named = {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in wanted}
    brought = packages_distributions()
    assert {name for name in imported() if not named & {normal(d) for d in brought.get(name, ())}} == set()
