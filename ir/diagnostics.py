"""The problems of a definition, as data. All are collected and raised once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from ir.codes import CODES, Code
from ir.errors import FlowError
from ir.pointers import Pointer

Severity = Literal["error", "warning"]
Patch = list[dict[str, Any]]
"""A JSON Patch (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning. `line` and `column` count characters from 1; `fixes` are JSON Patches to offer."""

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


def diagnose(
    code: str,
    at: Pointer,
    message: str,
    *,
    hint: str = "",
    fixes: Iterable[Patch] = (),
    codes: Mapping[str, Code] = CODES,
) -> Diagnostic:
    """Return a diagnostic with the severity of its code, and with the code's hint unless another is given."""
    spec = codes[code]
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
    """An invalid document. Holds all diagnostics, warnings included, and the rules that were skipped."""

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
    """Format a value of the document for a message: short, on one line, objects and lists as JSON."""
    if isinstance(value, bool | dict | list | tuple):
        text = json.dumps(value, ensure_ascii=False, default=str)
    else:
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(words: Iterable[str], limit: int = 40) -> str:
    """Format a list for a message: `a, b, c`; of many only the first ones."""
    first = list(islice(words, limit + 1))
    return ", ".join(first) if len(first) <= limit else ", ".join(first[:limit]) + ", …"
