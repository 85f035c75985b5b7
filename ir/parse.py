"""`parsePipelineIR`, the only function that turns a document into a typed pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.allowances import Allowances
from ir.budget import BudgetExceeded, budget, spend
from ir.codes import CODES
from ir.destinations import Destinations
from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped, diagnose
from ir.documents import Document, Syntax, read_document
from ir.faults import empty
from ir.pipeline import Pipeline
from ir.pointers import ROOT, Pointer
from ir.semantics import check_semantics
from ir.structure import read_structure


@dataclass(frozen=True, slots=True)
class Parsed:
    """A valid pipeline, the plain document that it was read from, and the warnings."""

    pipeline: Pipeline
    document: dict[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def parsePipelineIR(
    document: str | bytes | dict[str, Any],
    *,
    destinations: Destinations | None = None,
    sources: Mapping[str, Sequence[str]] | None = None,
    syntax: Syntax = "json",
    streaming: bool = False,
    allowances: Allowances | None = None,
    seconds: float | None = None,
) -> Parsed:
    """Parse a pipeline from text (JSON, or TOML by `syntax`) or from parsed JSON.

    Raises InvalidPipeline with all diagnostics of the three phases: text, structure, semantics. Only text that cannot
    be parsed ends it early. Without `destinations`, rules that depend on tables are skipped and listed. `sources` are
    the columns of the newest file of a source by the source's id, if known. `allowances` are what admins allow the
    queries over each connection, `streaming` is the installation's FLOW_STREAMING_ENABLED. `seconds` limits the CPU
    time for untrusted text; without it only steps are limited, so that a stored document gives the same result
    everywhere.
    """
    try:
        with budget(seconds):
            return _parse(document, destinations, sources or {}, syntax, streaming, allowances)
    except BudgetExceeded:
        time = "too long" if seconds is None else f"more than {seconds:g} s"
        message = f"Checking this document takes {time}."
        raise InvalidPipeline([diagnose("document.too_costly", ROOT, message)]) from None


def _parse(
    document: str | bytes | dict[str, Any],
    destinations: Destinations | None,
    sources: Mapping[str, Sequence[str]],
    syntax: Syntax,
    streaming: bool,
    allowances: Allowances | None,
) -> Parsed:
    read = read_document(document, syntax)
    draft, structural = read_structure(read.value)
    faults = [*read.faults, *_without_echoes(structural, read.faults)]
    findings = check_semantics(draft, read.value, destinations, sources, streaming, allowances)
    found = [finding for finding in findings if isinstance(finding, Diagnostic)]
    skipped = tuple(finding for finding in findings if isinstance(finding, Skipped))
    merged = [_of_empty(read.value, d) for d in (*faults, *_without_echoes(found, faults))]
    diagnostics = _in_order(read, _without_misspelt(merged))
    if draft.pipeline is None or any(d.severity == "error" for d in diagnostics):
        raise InvalidPipeline(diagnostics, skipped)
    return Parsed(draft.pipeline, read.value, tuple(diagnostics), skipped)


def _of_empty(document: Any, found: Diagnostic) -> Diagnostic:
    """Return the error of an empty text as such, whatever it violates: nobody has entered a value yet."""
    if found.severity == "error" and found.path and _value_at(document, found.path) == "":
        is_specific = found.code in _SAYS_THE_FORM or found.hint != CODES[found.code].hint
        return empty(found.path, found.hint if is_specific else "")
    return found


_SAYS_THE_FORM = ("expression.malformed", "query.not_allowed", "sql.malformed", "table_name.malformed")
"""The codes whose hints say what to enter."""


def _value_at(document: Any, at: Pointer) -> Any:
    """Return the value at a position, None if there is none."""
    for step in at:
        if isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        elif isinstance(document, dict) and step in document:
            document = document[str(step)]
        else:
            return None
    return document


def _without_echoes(later: list[Diagnostic], faults: list[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics of a later phase that are not at or below an invalid value."""
    spend(10 * len(later))
    faulty_paths = {fault.path for fault in faults if fault.path} | _meant(faults)
    return [d for d in later if not any(Pointer(d.path[:i]) in faulty_paths for i in range(1, len(d.path) + 1))]


def _without_misspelt(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Remove missing fields that are merely misspelt."""
    meant = _meant(diagnostics)
    return [d for d in diagnostics if d.code != "field.missing" or d.path not in meant]


def _meant(diagnostics: list[Diagnostic]) -> set[Pointer]:
    """Return the positions of the fields that misspelt ones are meant to be, in the same object."""
    return {
        d.path.parent / step["path"].rsplit("/", 1)[-1]
        for d in diagnostics
        if d.code == "field.unknown"
        for fix in d.fixes
        for step in fix
        if step["op"] == "move"
    }


def _in_order(read: Document, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Add lines and columns, sort by position in the text if there is one, and remove duplicates."""
    once = {(d.path, d.code, d.message): d for d in diagnostics}
    found = [read.with_position(diagnostic) for diagnostic in once.values()]
    return sorted(found, key=lambda d: (d.line or 0, d.column or 0))
