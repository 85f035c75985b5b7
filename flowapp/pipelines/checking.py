"""Collect all diagnostics of a document text: runs `parsePipelineIR` with what the databases contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from flowapp.accounts.models import Workspace
from flowapp.connections.kind_names import POSTGRES
from flowapp.modules.models import CustomModule
from flowapp.modules.selectors import list_modules
from flowapp.pipelines.destinations import Found, find_destinations
from flowapp.pipelines.documents import parse
from flowapp.pipelines.headers import newest_header
from flowapp.pipelines.module_use import check_modules, customs_in
from ir.connection_references import connection_references
from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped, listed, shown
from ir.documents import Syntax, read_document
from ir.json_text import JsonReader, JsonSyntaxError
from ir.pipeline import Pipeline as Document
from ir.pointers import ROOT, Pointer
from ir.spelling import guess

MOST_OFFERED = 3
"""The maximum number of connections that a diagnostic offers."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check. `value` is the plain document, None if the text is unreadable; `pipeline` is set if there
    are no errors. `modules` are those of the workspace, if the document has custom transforms."""

    value: Any
    pipeline: Document | None
    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]
    found: Found
    modules: tuple[CustomModule, ...] = ()

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def warnings(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "warning"]

    def require_valid(self) -> Document:
        """Return the typed pipeline. Raises InvalidPipeline."""
        if self.pipeline is None:
            raise InvalidPipeline(self.diagnostics, self.skipped)
        return self.pipeline


def check_text(
    workspace: Workspace, text: str, *, syntax: Syntax = "json", fresh: bool = False, looks_at_files: bool = False
) -> Checked:
    """Return all diagnostics of a text. `fresh` queries the tables again instead of using recent results.

    `looks_at_files` requires permission to see values: diagnostics of a wrong header setting show a row.
    """
    value = read_value(text, syntax)
    found = find_destinations(workspace, value, fresh=fresh)
    pipeline: Document | None = None
    try:
        columns = _columns_seen(workspace, value) if looks_at_files else None
        parsed = parse(text, syntax, found.tables, columns, found.allowances, seconds=settings.VALIDATION_SECONDS)
        pipeline, diagnostics, skipped = parsed.pipeline, parsed.warnings, parsed.skipped
    except InvalidPipeline as error:
        diagnostics, skipped = error.diagnostics, error.skipped
    modules = tuple(list_modules(workspace)) if any(customs_in(value)) else ()
    unknown = (*_unknown_connections(value, found), *check_modules(value, {build.ref: build for build in modules}))
    if unknown:
        with_position = read_document(text, syntax).with_position
        unknown = tuple(with_position(diagnostic) for diagnostic in unknown)
        pipeline = None
    diagnostics = tuple(_with_databases(diagnostics, found))
    return Checked(value, pipeline, diagnostics + unknown, tuple(_with_reasons(value, skipped, found)), found, modules)


def _columns_seen(workspace: Workspace, value: Any) -> dict[str, list[str]]:
    """Return the columns of the newest files, by the id of their source."""
    named = [(node["id"], node) for _, node in nodes_of(value) if isinstance(node.get("id"), str)]
    heads = {name: newest_header(workspace, node) for name, node in named if node.get("kind") == "source"}
    return {name: columns for name, columns in heads.items() if columns}


def read_value(text: str, syntax: Syntax = "json") -> Any:
    """Return the plain document, or None if the text is unreadable or repeats a key."""
    if syntax == "json":
        reader = JsonReader(text.removeprefix("\ufeff"))
        try:
            value = reader.read()
        except JsonSyntaxError:
            return None
        return None if any(fault.code == "document.repeated_key" for fault in reader.faults) else value
    try:
        return read_document(text, syntax).value
    except InvalidPipeline:
        return None


def nodes_of(value: Any) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Return the nodes of a possibly invalid document, with their positions."""
    nodes = value.get("nodes") if isinstance(value, dict) else None
    for i, node in enumerate(nodes if isinstance(nodes, list) else ()):
        if isinstance(node, dict):
            yield ROOT / "nodes" / i, node


def _unknown_connections(value: Any, found: Found) -> Iterator[Diagnostic]:
    """Report unknown connections. The parser knows no workspace, so it cannot do this."""
    for at, name, kinds in connection_references(value):
        names = found.names_of(kinds)
        if name not in names:
            near = guess(name, names)
            yield Diagnostic(
                at,
                "connection.unknown",
                "error",
                _why_unknown(name, names, found),
                "Choose one of them, or add it on the Connections page.",
                fixes=([{"op": "replace", "path": str(at), "value": near}],) if near else (),
            )


def _with_databases(diagnostics: Iterable[Diagnostic], found: Found) -> Iterator[Diagnostic]:
    """Offer the databases of the workspace where a quarantine must name one. The parser knows no workspace."""
    for diagnostic in diagnostics:
        if diagnostic.code == "quarantine.connection_required":
            at = str(diagnostic.path)
            names = found.names_of([POSTGRES])[:MOST_OFFERED]
            offered = tuple([{"op": "add", "path": at, "value": name}] for name in names)
            yield replace(diagnostic, fixes=(*offered, *diagnostic.fixes))
        else:
            yield diagnostic


def _why_unknown(name: str, names: Sequence[str], found: Found) -> str:
    known = listed(names) or "none yet"
    if name in found.kinds:
        return (
            f"Connection {shown(name)} is of kind {found.kinds[name]}, which cannot be used here. These can: {known}."
        )
    return f"Unknown connection {shown(name)}. Connections that can be used here: {known}."


def _with_reasons(value: Any, skipped: tuple[Skipped, ...], found: Found) -> Iterator[Skipped]:
    """Return the skipped rules. If a database did not respond, that is the reason."""
    silent = {
        at: found.silent[node["connection"]]
        for at, node in nodes_of(value)
        if node.get("kind") == "target" and node.get("connection") in found.silent
    }
    for rule in skipped:
        at = Pointer(rule.path[:2])
        reason = silent.get(at)
        yield replace(rule, reason=f"the database did not answer: {reason}") if reason else rule
    skipped_nodes = {Pointer(rule.path[:2]) for rule in skipped}
    for at, reason in silent.items():
        if at not in skipped_nodes:
            yield Skipped("target.not_loadable", at / "table", f"the database did not answer: {reason}")
