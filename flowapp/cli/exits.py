"""Exit statuses and error output: a code, a message and a hint, never a traceback."""

from __future__ import annotations

import os
import re
import secrets
import traceback
from pathlib import Path
from typing import Any

from rich.console import Console

from flowapp.cli.outcome import Outcome, printable, show_lines
from flowapp.embedded.home import flow_home
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError

FAILED, INVALID, REFUSED, HOOK_FAILED, CANCELLED, HELD, PARTIAL, COMPLETE = 1, 2, 3, 4, 5, 6, 7, 8
USAGE, INTERRUPTED = 64, 130

STATUS_BY_CODE = {"usage": USAGE, "run.busy": REFUSED, "run.cancelled": CANCELLED, "backfill.paused": REFUSED}
"""Exit statuses by error code; all other codes exit with `FAILED`. Errors with diagnostics exit with `INVALID`."""


class UsageError(FlowError):
    """The command line cannot be understood."""

    def __init__(self, message: str, *, command: str = "flow") -> None:
        super().__init__("usage", message, hint=f"See `{command} --help`.")


def fail(error: BaseException, document: str | None = None) -> Outcome:
    """Return the outcome of a command that raised. `document` is the file or pipeline that the user named."""
    if isinstance(error, KeyboardInterrupt):
        return _problem("interrupted", "Stopped before the end.", "", INTERRUPTED)
    if isinstance(error, InvalidPipeline):
        from flowapp.cli.diagnostics import invalid

        return invalid(error, document or "document")
    if isinstance(error, FlowError):
        return _outcome_of(error)
    return _crashed(error)


def _outcome_of(error: FlowError) -> Outcome:
    document = {"error": error.to_json()}
    status = STATUS_BY_CODE.get(error.code, FAILED)
    return Outcome(document, lambda console: show_error(console, error.to_json()), status, to_stderr=True)


def _problem(code: str, message: str, hint: str, status: int) -> Outcome:
    outcome = _outcome_of(FlowError(code, message, hint=hint))
    return Outcome(outcome.document, outcome.show, status, to_stderr=True)


def show_error(console: Console, error: dict[str, Any]) -> None:
    """Print `{code, node, message, hint, detail?}`."""
    where = f" in node {error['node']}" if error.get("node") else ""
    console.print(printable(f"error: {error['message']}"), style="red", markup=False)
    show_lines(console, [f"  [{error['code']}]{where}"])
    if error.get("hint"):
        show_lines(console, [f"  {error['hint']}"])
    if error.get("detail"):
        show_lines(console, [f"  Database message: {printable(error['detail'])}"])


def _crashed(error: BaseException) -> Outcome:
    """Handle an unexpected error: print one line with an error id, and write the traceback to a file with that id."""
    crash_id = secrets.token_hex(4)
    message = f"Unexpected error ({type(error).__name__}, id {crash_id})."
    try:
        path = _write_crash(crash_id, error)
    except OSError as trouble:
        return _problem("internal", message, f"The details could not be written: {trouble.strerror}.", FAILED)
    return _problem("internal", message, f"Details are in {path}.", FAILED)


def _write_crash(crash_id: str, error: BaseException) -> Path:
    folder = flow_home() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"crash-{crash_id}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(without_secrets("".join(traceback.format_exception(error))))
    return path


_SECRET_NAMES = (
    "FLOW_SECRET_KEY",
    "FLOW_ENCRYPTION_KEYS",
    "FLOW_CONNECTION_PASSWORD",
    "FLOW_CHANNEL_SECRET",
    "FLOW_DATABASE_URL",
    "FLOW_REDIS_URL",
)
_USER_INFO = re.compile(r"(?<=://)[^/\s]*@")


def without_secrets(text: str) -> str:
    """Return the text without values of secret settings and without user names and passwords in URLs."""
    for value in filter(None, map(os.environ.get, _SECRET_NAMES)):
        for part in {value, *value.split(",")}:
            text = text.replace(part, "…")
    return _USER_INFO.sub("…@", text)
