"""Functions of an installed package (`tests/fixtures/packages`), in processes of their own."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from executors.hooks import custom_function
from executors.hooks.base import Interruption
from ir import InvalidPipeline, parsePipelineIR
from tests.executors.hooks.conftest import Run, pipeline


def hook(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "custom_function", "function": f"flow-test.{name}", "args": args}


def test_a_function_is_given_names_counts_and_its_arguments(run: Run, tmp_path: Path, schema: str):
    into = tmp_path / "seen.json"
    report, failure = run(hook("note", into=str(into), deep={"a": [1]}), counts={"rows_loaded": 4})
    assert (report.state, report.message, failure) == ("succeeded", "noted t", None)
    assert report.statement == "flow-test.note(into, deep)"
    seen = json.loads(into.read_text())
    assert seen["args"] == {"into": str(into), "deep": {"a": [1]}}
    assert (seen["load"]["table"], seen["load"]["counts"]) == ("t", {"rowsLoaded": 4})


def test_a_function_gets_none_of_flows_keys_and_passwords(run: Run, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("FLOW_ENCRYPTION_KEYS", "k3y")
    into = tmp_path / "seen.json"
    run(hook("note", into=str(into)))
    seen = json.loads(into.read_text())
    assert not [name for name in seen["environment"] if name.startswith("FLOW_")]
    assert "password" not in json.dumps(seen["load"])


def test_what_a_function_prints_is_no_answer(run: Run):
    assert run(hook("chatter"))[0].message == "done"


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("fail", "hook.function_failed", "RuntimeError: it fails"),
        ("missing", "hook.function_failed", "AttributeError"),
        ("die", "hook.function_ended", "signal 6"),
    ],
)
def test_whatever_goes_wrong_in_a_function_is_reported(name: str, code: str, says: str, run: Run):
    report, failure = run(hook(name))
    assert (report.state, failure.code) == ("failed", code)
    assert says in report.message


def test_a_function_that_no_package_registers_is_refused_at_save(schema: str):
    with pytest.raises(InvalidPipeline, match="Known functions: flow-test"):
        parsePipelineIR(pipeline(schema, postHook=hook("no-such-thing")))


def test_a_function_that_takes_too_long_is_ended(run: Run, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(custom_function, "SECONDS", 5)
    report, failure = run(hook("sleep", into=str(tmp_path / "pid")))
    assert (report.state, failure.code) == ("failed", "hook.interrupted")
    require_gone(tmp_path / "pid")


def test_a_function_can_be_interrupted_from_another_thread(run: Run, tmp_path: Path):
    interruption, answers, pid = Interruption(), [], tmp_path / "pid"
    thread = threading.Thread(
        target=lambda: answers.append(run(hook("sleep", into=str(pid)), interruption=interruption))
    )
    thread.start()
    while not pid.exists():
        time.sleep(0.05)
    while thread.is_alive():
        interruption.interrupt()
        time.sleep(0.05)
    assert answers[0][0].state == "failed"
    require_gone(pid)


def require_gone(pid: Path) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
