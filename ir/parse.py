"""`parsePipelineIR`, the only door from a document to a typed pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir.destinations import Destinations
from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped
from ir.documents import Document, Syntax, read_document
from ir.meaning import check_meaning
from ir.pipeline import Pipeline
from ir.pointers import Pointer
from ir.structure import read_structure


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pipeline without faults, the plain document it was read from, and what there is to say about it."""

    pipeline: Pipeline
    document: dict[str, Any]
    warnings: tuple[Diagnostic, ...] = ()
    skipped: tuple[Skipped, ...] = ()


def parsePipelineIR(
    document: str | bytes | dict[str, Any], *, destinations: Destinations | None = None, syntax: Syntax = "json"
) -> Parsed:
    """Read a pipeline from text (JSON, or TOML by `syntax`) or from parsed JSON.

    Raises InvalidPipeline holding every diagnostic of all three phases: text, structure, meaning. Only text that cannot
    be read at all ends it early. Rules that need to know the tables are skipped, and listed, without `destinations`.
    """
    read = read_document(document, syntax)
    draft, structural = read_structure(read.value)
    faults = [*read.faults, *_not_within(read.faults, structural)]
    findings = check_meaning(draft, destinations)
    skipped = tuple(finding for finding in findings if isinstance(finding, Skipped))
    found = [finding for finding in findings if isinstance(finding, Diagnostic)]
    diagnostics = _in_order(read, [*faults, *_not_within(faults, found)])
    if draft.pipeline is None or any(d.severity == "error" for d in diagnostics):
        raise InvalidPipeline(diagnostics, skipped)
    return Parsed(draft.pipeline, read.value, tuple(diagnostics), skipped)


def _not_within(faults: list[Diagnostic], later: list[Diagnostic]) -> list[Diagnostic]:
    """Those of a later phase that are not just echoes: at or below a faulty value, or at what a misspelt key meant."""
    places = {fault.path for fault in faults} | {
        Pointer(fault.path[:-1]) / step["path"].rsplit("/", 1)[-1]
        for fault in faults
        for fix in fault.fixes
        for step in fix
        if step["op"] == "move"
    }
    return [d for d in later if not any(Pointer(d.path[:i]) in places for i in range(1, len(d.path) + 1))]


def _in_order(read: Document, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """With lines and columns, in the order of the text where there is one; what is said twice, once."""
    once = {(d.path, d.code, d.message): d for d in diagnostics}
    placed = [read.placed(diagnostic) for diagnostic in once.values()]
    return sorted(placed, key=lambda d: (d.line or 0, d.column or 0))
