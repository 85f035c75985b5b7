"""What the package imports, it asks for by name: what only comes with another package may go with its next version."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGES = ("ir", "executors", "flowapp", "flow_transforms")


def imported(walk: Callable[[ast.AST], Iterator[ast.AST]]) -> set[str]:
    """The packages that the package's modules import, without Python's own and itself."""
    paths = [path for package in PACKAGES for path in (PROJECT / package).rglob("*.py")]
    modules = {name for path in paths for node in walk(ast.parse(path.read_bytes())) for name in names_in(node)}
    return {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names, *PACKAGES}


def walk_run(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, without what only a type checker reads."""
    yield node
    only_checked = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for child in node.orelse if only_checked else ast.iter_child_nodes(node):
        yield from walk_run(child)


def names_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def without_dependency(imports: set[str], requirements: Iterable[str]) -> set[str]:
    named = {normal(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}
    brought = packages_distributions()
    return {name for name in imports if not named & {normal(d) for d in brought.get(name, ())}}


def test_each_import_is_a_dependency_by_name() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    run = project["dependencies"]

    assert without_dependency(imported(walk_run), run) == set()
    assert without_dependency(imported(ast.walk), run + project["optional-dependencies"]["dev"]) == set()
