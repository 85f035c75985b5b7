"""Rules about what the destination of a target does not support. The engine refuses the same before it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ir.connectors import TARGET_CONNECTORS
from ir.connectors.base import Feature, TargetConnector
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.graph import Graph, unites
from ir.load_modes import load_mode
from ir.nodes import Target, Validate
from ir.pointers import ROOT, Pointer
from ir.structure import Draft, DraftNode
from ir.types import ColumnType

TARGET_FIELDS: Mapping[str, Feature] = {
    "hold": "holds",
    "backupBeforeLoad": "undo",
    "preHook": "hooks",
    "postHook": "hooks",
}
"""The fields of targets that need a feature of the destination."""
VALIDATE_FIELDS: Mapping[str, Feature] = {"datasetLevel": "checks", "quarantine": "quarantine"}
"""The fields of validate nodes that need a feature of the destinations of their rows."""


def check_support(draft: Draft, graph: Graph) -> Iterator[Diagnostic]:
    """Yield what a document uses that the destination of a target does not support."""
    for node in graph.nodes:
        if isinstance(node.spec, Target) and node.spec.connector in TARGET_CONNECTORS:
            view = _View(draft, graph, node, node.spec, TARGET_CONNECTORS[node.spec.connector])
            yield from view.check_mode()
            yield from view.check_features()
            yield from view.check_checks()
            yield from view.check_types()
            yield from view.check_names()


@dataclass(frozen=True)
class _View:
    """A target with its connector."""

    draft: Draft
    graph: Graph
    node: DraftNode
    target: Target
    connector: TargetConnector

    def check_mode(self) -> Iterator[Diagnostic]:
        mode = load_mode(self.target.load_mode)
        if mode.name in self.connector.load_modes:
            return
        able = [other.title for other in TARGET_CONNECTORS.values() if mode.name in other.load_modes]
        modes = [mode.nearest] if mode.nearest in self.connector.load_modes else sorted(self.connector.load_modes)
        hint = f"Use {' or '.join(modes)}, or another target ({listed(able)})."
        yield self._unsupported(f"the load mode {mode.name}", self.node.at / "loadMode", hint)

    def check_features(self) -> Iterator[Diagnostic]:
        """Report features at the fields that need them."""
        for feature, words, at in self._needed():
            if feature in self.connector.lacks:
                yield self._unsupported(words, at, self.connector.lacks[feature], is_removable=at[-1] != "inputs")

    def _needed(self) -> Iterator[tuple[Feature, str, Pointer]]:
        for name in _used_fields(self.target):
            yield TARGET_FIELDS[name], name, self.node.at / name
        for node in self._above():
            if isinstance(node.spec, Validate):
                for name in _used_checks(node.spec):
                    yield VALIDATE_FIELDS[name], name, node.at / name
            if unites(node):
                yield "unions", "rows of several sources", self.node.at / "inputs"
        if self.draft.backfill is not None:
            yield "backfills", "backfill", ROOT / "backfill"

    def check_checks(self) -> Iterator[Diagnostic]:
        """Report kinds of dataset checks that the destination cannot evaluate."""
        for node in self._above():
            level = node.spec.dataset_level if isinstance(node.spec, Validate) else None
            for kind in dict.fromkeys(kind for kind, _ in level.checks()) if level is not None else ():
                if kind in self.connector.no_checks:
                    at = node.at / "datasetLevel" / kind
                    yield self._unsupported(f"the check {kind}", at, self.connector.no_checks[kind], is_removable=True)

    def _above(self) -> list[DraftNode]:
        """Return the nodes through which rows reach the target."""
        chains = self.graph.chains_to(self.node)
        return list({node.at: node for chain in chains for node in chain}.values())

    def check_types(self) -> Iterator[Diagnostic]:
        """Report the types of declared columns that a new table cannot have."""
        for i, column in enumerate(self.target.columns or ()):
            if self.connector.has_type(ColumnType.parse(column.type)):
                continue
            at = self.node.at / "columns" / i / "type"
            message = f"{self.connector.tables} have no columns of the type {column.type}."
            fix = [{"op": "replace", "path": str(at), "value": "string"}]
            yield diagnose("type.not_supported", at, message, fixes=[fix])

    def check_names(self) -> Iterator[Diagnostic]:
        """Report names that the destination cannot use for a table."""
        names = {"schema": self.target.schema_, "table": self.target.table}
        for field, name in names.items():
            if name and self.connector.names and not re.fullmatch(self.connector.names, name):
                hint = "Use letters, digits, blanks, '_', '-' and '.', and begin with a letter or digit."
                yield self._unsupported(f"the name {shown(name)}", self.node.at / field, hint)

    def _unsupported(self, words: str, at: Pointer, hint: str, *, is_removable: bool = False) -> Diagnostic:
        fixes = [[{"op": "remove", "path": str(at)}]] if is_removable else []
        message = f"{self.connector.tables} do not support {words}."
        return diagnose("target.not_supported", at, message, hint=hint, fixes=fixes)


def _used_fields(target: Target) -> Iterator[str]:
    used = {
        "hold": target.hold is not None,
        "backupBeforeLoad": target.backup_before_load,
        "preHook": bool(target.pre_hook),
        "postHook": bool(target.post_hook),
    }
    return (name for name, is_used in used.items() if is_used)


def _used_checks(validate: Validate) -> Iterator[str]:
    if validate.dataset_level is not None and any(validate.dataset_level.checks()):
        yield "datasetLevel"
    if validate.quarantine is not None and validate.quarantine.enabled:
        yield "quarantine"
