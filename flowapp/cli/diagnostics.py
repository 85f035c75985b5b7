"""Print the diagnostics of a document and set exit status 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from flowapp.cli.exits import INVALID
from flowapp.cli.outcome import Outcome, printable, show_lines
from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped

_COLOURS = {"error": "red", "warning": "yellow"}


def document_of(diagnostics: Sequence[Diagnostic], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """Return `{valid, diagnostics, skipped}`. A document with warnings only is valid."""
    return {
        "valid": all(d.severity != "error" for d in diagnostics),
        "diagnostics": [d.to_json() for d in diagnostics],
        "skipped": [s.to_json() for s in skipped],
    }


def invalid(error: InvalidPipeline, name: str) -> Outcome:
    """Return the outcome of a command with an invalid document."""
    return Outcome(
        document_of(error.diagnostics, error.skipped),
        lambda console: show_diagnostics(console, error.diagnostics, name),
        INVALID,
        to_stderr=True,
    )


def show_diagnostics(console: Console, diagnostics: Sequence[Diagnostic], name: str) -> None:
    """Print one block per diagnostic: location, severity, message, code, path and hint."""
    for diagnostic in diagnostics:
        location = ":".join(str(part) for part in (name, diagnostic.line, diagnostic.column) if part)
        line = printable(f"{location}: {diagnostic.severity}: {diagnostic.message}")
        console.print(line, style=_COLOURS[diagnostic.severity], markup=False)
        show_lines(console, [f"  [{diagnostic.code}] at {str(diagnostic.path) or 'the top'}"])
        if diagnostic.hint:
            show_lines(console, [f"  {diagnostic.hint}"])
