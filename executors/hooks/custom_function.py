"""The `custom_function` hook: a function of an installed package, run in a separate process that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from executors.errors import Failure, Terminal, Transient
from executors.hooks.base import HookCall, HookHandler
from ir.hooks.base import BaseHook
from ir.hooks.custom_function import GROUP, CustomFunction

SECONDS = 600
LONGEST_ANSWER = 2000
PROCESS = Path(__file__).with_name("function_process.py")
"""Started by path, so that the process imports nothing of Flow."""


def call_function(call: HookCall) -> str:
    hook = cast(CustomFunction, call.hook)
    given = json.dumps({"group": GROUP, "function": hook.function, "load": dict(call.facts), "args": hook.args or {}})
    with (
        subprocess.Popen(
            [sys.executable, "-P", PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            env=_environment(),
            start_new_session=True,
        ) as process,
        call.interruption.by(lambda: _end(process)),
    ):
        try:
            answer, _ = process.communicate(given.encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Terminal(
                "hook.interrupted", f"{hook.function} did not finish within {SECONDS} s and was stopped."
            ) from error
        finally:
            _end(process)
    return _message_of(hook.function, process.returncode, answer)


def _environment() -> dict[str, str]:
    """Return this process's environment without Flow's keys and addresses. The same packages can be imported."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FLOW_")}
    return inherited | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all processes that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of them have ended


def _message_of(function: str, status: int, answer: bytes) -> str:
    if status:
        raise _ended(function, status)
    answered: dict[str, Any] = json.loads(answer)
    if "error" in answered:
        raise Terminal(answered["code"], f"{function}: {answered['error']}"[:LONGEST_ANSWER], hint=answered["hint"])
    return str(answered["message"])[:LONGEST_ANSWER]


def _ended(function: str, status: int) -> Failure:
    return Transient(
        "hook.function_ended",
        f"The process of {function} ended with {f'signal {-status}' if status < 0 else f'status {status}'}.",
        hint="Its output is in the log of the process that ran it.",
    )


def _statement(hook: BaseHook) -> str:
    hook = cast(CustomFunction, hook)
    return f"{hook.function}({', '.join(hook.args or {})})"


HANDLER = HookHandler("custom_function", _statement, call_function)
