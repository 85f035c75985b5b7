"""The description of the code of a FlowError or a warning. Each layer declares the codes that it uses; those of
diagnostics are in `ir.codes`."""

from __future__ import annotations

from dataclasses import dataclass

from ir.kinds import KindTable

TRANSIENT_STATUS = 503


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code. `title` says what happened, `hint` what to do if an error has no more specific hint. `status` is
    the HTTP status of an API response with this code; 503 means that trying again may help."""

    name: str
    title: str
    hint: str
    status: int = 422

    @property
    def is_transient(self) -> bool:
        """Whether a run that fails with this code is tried again, if its pipeline allows more attempts."""
        return self.status == TRANSIENT_STATUS


@dataclass(frozen=True, slots=True)
class WarningCode:
    """A warning of a run: `title` says what was found, `hint` what to do about it."""

    name: str
    title: str
    hint: str


def table_of(*codes: ErrorCode) -> KindTable[ErrorCode]:
    """Return the codes by name; refuses duplicates."""
    return KindTable("error code", ((code.name, code) for code in codes))


def warnings_of(*codes: WarningCode) -> KindTable[WarningCode]:
    """Return the codes of warnings by name; refuses duplicates."""
    return KindTable("warning code", ((code.name, code) for code in codes))


ERROR_CODES = table_of(
    ErrorCode("pipeline.invalid", "The document has faults.", "Correct what `diagnostics` names."),
    ErrorCode("project.invalid", "The files of a project have faults.", "Correct what `diagnostics` names."),
)
