"""Replace the names of a document's fields in messages by their labels in the forms.

Messages are written for documents: `Set emptyAsNull to false`. A form has its label: `Set "Load empty text as NULL" to
false`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flowapp.web.schema_tree import MISSING, Schema, SchemaTree, properties_of
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer

_NAME = r"[A-Za-z][A-Za-z0-9]*"
_CAMEL = r"[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*"
_REFERENCE = re.compile(
    # Not in quotes or paths: those are values of the user, such as names of columns.
    rf"""(?<!['"\w./$`-])(?:(?P<word>field )(?P<any>{_NAME})|(?P<name>{_CAMEL}))(?!['"\w(/`]|\.\w)"""
    r"(?:(?P<between> to | is | )(?P<values>[a-z_]+(?:(?:, | or )[a-z_]+)*)\b)?"
)
"""A name in camel case, which no English word is, or any name after the word field; then perhaps values of it."""


@dataclass(frozen=True, slots=True)
class FieldLabel:
    """The label of a field, and those of its values."""

    label: str
    values: Mapping[str, str] = field(default_factory=dict)


class FieldLabels:
    """The labels of the fields of a document, from its schema."""

    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._everywhere = _unambiguous(tree)

    def of(self, name: str) -> str:
        """Return the label of a field, and any other name as it is."""
        return self._everywhere[name].label if name in self._everywhere else name

    def in_text(self, text: str, scope: Mapping[str, FieldLabel] | None = None) -> str:
        """Return a text with labels for names. `scope` has the labels near the text's position, which take precedence
        over those of the whole document."""
        labels = {**self._everywhere, **(scope or {})}
        return with_labels(text, labels)

    def in_diagnostics(self, diagnostics: Iterable[Diagnostic], document: Any) -> list[Diagnostic]:
        """Return diagnostics with labels for names in their messages and hints."""
        return [self._in_diagnostic(found, document) for found in diagnostics]

    def _in_diagnostic(self, found: Diagnostic, document: Any) -> Diagnostic:
        scope = self._scope(document, found.path)
        return replace(found, message=self.in_text(found.message, scope), hint=self.in_text(found.hint, scope))

    def _scope(self, document: Any, at: Pointer) -> dict[str, FieldLabel]:
        """Return the labels of the fields of all objects on the way to a position; those of inner ones win."""
        schema, value = self._tree.document, document
        scope: dict[str, FieldLabel] = {}
        for step in (*at, None):
            found = self._tree.resolve(schema, value if not isinstance(value, list) else MISSING).schema
            scope |= {name: _label(name, self._tree.resolve(part).schema) for name, part, _ in properties_of(found)}
            try:
                schema, value = self._tree.at(schema, value, () if step is None else (step,))
            except KeyError:
                break
        return scope


def with_labels(text: str, labels: Mapping[str, FieldLabel]) -> str:
    """Return a text with labels for the names of fields."""
    return _REFERENCE.sub(lambda found: _labelled(found, labels), text)


def _unambiguous(tree: SchemaTree) -> dict[str, FieldLabel]:
    """Return the labels of the names that have the same label in all definitions."""
    labels: dict[str, list[FieldLabel]] = {}
    for definition in (tree.document, *tree.document["$defs"].values()):
        for name, part, _ in properties_of(definition):
            labels.setdefault(name, []).append(_label(name, tree.resolve(part).schema))
    return {name: found[0] for name, found in labels.items() if len({each.label for each in found}) == 1}


def _label(name: str, schema: Schema) -> FieldLabel:
    return FieldLabel(str(schema.get("title", name)), schema.get("labels", {}))


def _labelled(found: re.Match[str], labels: Mapping[str, FieldLabel]) -> str:
    label = labels.get(found["any"] or found["name"])
    if label is None:
        return found[0]
    values = re.sub("[a-z_]+", lambda one: _value(one[0], label.values), found["values"] or "")
    return f'{found["word"] or ""}"{label.label}"{found["between"] or ""}{values}'


def _value(name: str, labels: Mapping[str, str]) -> str:
    return f'"{labels[name]}"' if name in labels else name
