"""The description of the code of a FlowError or a warning. Each layer declares the codes that it uses; those of
diagnostics are in `ir.codes`."""

from __future__ import annotations

from dataclasses import dataclass

from ir.kinds import KindTable


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """`title` says what happened; `hint` what to do where an error has no better one. `status` is the HTTP status of an
    API response with this code."""

    name: str
    title: str
    hint: str
    status: int = 422


@dataclass(frozen=True, slots=True)
class WarningCode:
    """A warning of a run: `title` says what was found, `hint` what to do about it."""

    name: str
    title: str
    hint: str


def table_of(*codes: ErrorCode) -> KindTable[ErrorCode]:
    """The codes by name; refuses two of one name."""
    return KindTable("error code", ((code.name, code) for code in codes))


def warnings_of(*codes: WarningCode) -> KindTable[WarningCode]:
    """The codes of warnings by name; refuses two of one name."""
    return KindTable("warning code", ((code.name, code) for code in codes))


ERROR_CODES = table_of(ErrorCode("pipeline.invalid", "The document has faults.", "Correct what `diagnostics` names."))
