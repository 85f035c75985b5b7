"""Diagnostics of a project: those of its documents, with the name of their file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ir.diagnostics import Diagnostic, diagnose
from ir.errors import FlowError
from ir.manifests.codes import MANIFEST_CODES


@dataclass(frozen=True, slots=True)
class FileDiagnostic:
    """A diagnostic and the name of its file. Its path, line and column refer to that file."""

    file: str
    diagnostic: Diagnostic

    @property
    def is_error(self) -> bool:
        return self.diagnostic.severity == "error"

    @property
    def place(self) -> str:
        """The file, with line and column where they are known."""
        return ":".join(str(part) for part in (self.file, self.diagnostic.line, self.diagnostic.column) if part)

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, **self.diagnostic.to_json()}


fault = partial(diagnose, codes=MANIFEST_CODES)
"""Return a diagnostic of a manifest."""


class InvalidProject(FlowError):
    """A project with errors. Holds the diagnostics of all files, warnings included."""

    diagnostics: tuple[FileDiagnostic, ...]

    def __init__(self, diagnostics: Sequence[FileDiagnostic]) -> None:
        errors = [found for found in diagnostics if found.is_error]
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        message = f"{first.file}: {first.diagnostic.message}{more}"
        super().__init__("project.invalid", message, hint=first.diagnostic.hint)
        self.diagnostics = tuple(diagnostics)

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"diagnostics": [found.to_json() for found in self.diagnostics]}
