"""Every kind of run is a tuple of steps, declared in one module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import executors
from executors.runs import names
from executors.runs.kinds import RUNS, STEPS
from executors.runs.step import Step

FOLDER = Path(executors.__path__[0])


def classes(folder: Path) -> Iterator[ast.ClassDef]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                yield node


def test_no_class_inherits_from_one_of_runs() -> None:
    of_runs = {one.name for one in classes(FOLDER / "runs")}

    bases = {base.id for one in classes(FOLDER) for base in one.bases if isinstance(base, ast.Name)}

    assert of_runs
    assert not bases & of_runs


def test_no_step_is_announced_by_a_name_of_its_own() -> None:
    for path in FOLDER.rglob("*.py"):
        assert not re.search(r"\.step\(\s*[\"']", path.read_text()), path


@pytest.mark.parametrize("kind", STEPS)
def test_a_kind_consists_of_declared_steps(kind: str) -> None:
    declared = {step.name: step for step in names.ALL}

    assert STEPS[kind][0].name == "start"
    for step in STEPS[kind]:
        known: Step[Any] = declared[step.name]
        assert (step.label, step.may_commit, step.of_run) == (known.label, known.may_commit, known.of_run)


def test_every_kind_has_steps_and_a_function() -> None:
    assert STEPS.keys() == RUNS.keys()


@pytest.mark.parametrize("kind", ["preview", "recheck", "sample", "plan"])
def test_a_kind_that_loads_nothing_has_no_step_that_commits(kind: str) -> None:
    assert not any(step.may_commit for step in STEPS[kind])


@pytest.mark.parametrize("kind", sorted(STEPS.keys() - {"preview", "recheck", "sample", "plan"}))
def test_nothing_can_be_committed_before_the_first_load(kind: str) -> None:
    order = [step.name for step in STEPS[kind]]

    assert not any(step.may_commit for step in STEPS[kind][: order.index("load")])


def test_a_step_that_is_not_known_may_have_committed() -> None:
    assert names.may_commit("load")
    assert names.may_commit("of a later release")
    assert not names.may_commit("pass")
