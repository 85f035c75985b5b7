"""Which failures are retried, after which wait, and how pages show them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from executors.errors import Terminal, Transient
from flowapp.error_codes import ERROR_CODES
from flowapp.runs.attempts import is_transient
from flowapp.runs.models import State, Trigger
from flowapp.runs.requeueing import JITTER, backoff
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run
from tests.flowapp.reading import words
from tests.flowapp.runs.table_engine import TableEngine
from tests.flowapp.runs.test_attempts import attempt, raising

ROOT = Path(__file__).parents[3]
KINDS = {"Transient": True, "Terminal": False, "InvalidContent": False}


def raised_codes() -> set[tuple[str, bool]]:
    """The codes of all failures that the sources name, each with whether its class is that of a passing one."""
    calls = [
        node
        for folder in ("executors", "flowapp")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    named = {(c.func.id, a.value) for c in calls if isinstance(a := c.args[0], ast.Constant)}  # type: ignore[attr-defined]
    return {(str(code), KINDS[kind]) for kind, code in named if kind in KINDS}


def test_the_catalogue_knows_which_failures_may_pass():
    found = raised_codes()
    assert ("spark.lost", True) in found
    assert [code for code, passes in found if code in ERROR_CODES and ERROR_CODES[code].is_transient != passes] == []


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (Transient("target.lost", "Gone."), True),
        (Terminal("target.read_only", "No."), False),
        (Transient("no.such_code", "?"), False),
    ],
)
def test_a_code_decides_whether_a_run_is_tried_again(error, passes):
    assert is_transient(error) is passes


@pytest.mark.django_db
def test_waits_double_and_have_a_random_part(pipeline):
    run = queue_run(pipeline, Trigger.SCHEDULE)
    for run.failures, seconds in ((0, 10), (1, 20), (2, 40), (20, 3600)):
        waits = {backoff(run) for _ in range(20)}
        assert len(waits) > 1
        assert all(seconds <= wait <= seconds * (1 + JITTER) for wait in waits)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("sent")
def test_each_failed_attempt_is_shown_with_its_reason(as_, pipeline, target):
    run = queue_run(pipeline, Trigger.SCHEDULE)
    run = attempt(run, TableEngine(at={"pass": raising(Transient("target.unreachable", "Nobody answers."))}))
    text = words(as_("viewer").get(f"/w/alices-team/runs/{run.pk}/"))
    assert "because Nobody answers. target.unreachable" in text
    assert "Attempt 2 of 3 is due at" in text

    run = attempt(run, TableEngine())
    [failed] = run_document(run)["failedAttempts"]
    assert (run.state, failed["attempt"], failed["error"]["code"]) == (State.SUCCEEDED, 1, "target.unreachable")
    assert "Attempt 2 of 3 ended the run" in words(as_("viewer").get(f"/w/alices-team/runs/{run.pk}/"))
