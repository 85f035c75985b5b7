"""The problems of a definition, as data. All are collected and raised once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ir.codes import CODES
from ir.errors import FlowError
from ir.pointers import Pointer

Severity = Literal["error", "warning"]
Patch = list[dict[str, Any]]
"""A JSON Patch (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault or warning. `line` and `column` count characters from 1; `fixes` are patches to offer."""

    path: Pointer
    code: str
    severity: Severity
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None
    fixes: tuple[Patch, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "line": self.line,
            "column": self.column,
            "fixes": [list(fix) for fix in self.fixes],
        }


def diagnose(code: str, at: Pointer, message: str, *, hint: str = "", fixes: Iterable[Patch] = ()) -> Diagnostic:
    """A diagnostic with the severity that `ir.codes` gives its code, and its hint where none is passed."""
    spec = CODES[code]
    return Diagnostic(at, code, spec.severity, message, hint or spec.hint, fixes=tuple(fixes))


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not be applied, and why."""

    code: str
    path: Pointer
    reason: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "path": str(self.path), "reason": self.reason}


class InvalidPipeline(FlowError):
    """A document that is no pipeline. Holds every diagnostic, warnings included, and the rules that were skipped."""

    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]

    def __init__(self, diagnostics: Sequence[Diagnostic], skipped: Sequence[Skipped] = ()) -> None:
        errors = [d for d in diagnostics if d.severity == "error"]
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__("pipeline.invalid", f"{str(first.path) or 'document'}: {first.message}{more}", hint=first.hint)
        self.diagnostics, self.skipped = tuple(diagnostics), tuple(skipped)

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {
            "diagnostics": [d.to_json() for d in self.diagnostics],
            "skipped": [s.to_json() for s in self.skipped],
        }


def shown(value: object, limit: int = 60) -> str:
    """A value of the document as a message shows it: short, on one line."""
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(words: Iterable[str], limit: int = 40) -> str:
    """`a, b, c`, for "allowed are …"; the first ones of many."""
    first = list(islice(words, limit + 1))
    return ", ".join(first) if len(first) <= limit else ", ".join(first[:limit]) + ", …"
