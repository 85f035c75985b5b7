"""Convert a JSON Schema and a document to the fields of a form. `form_values` converts submitted text back to JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowapp.web.form_values import plain_text, text_of
from flowapp.web.schema_tree import MISSING, Resolved, Schema, SchemaTree, properties_of
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer

NAMING_FIELDS = ("field", "column", "name", "to")
"""Fields that distinguish the items of a list, in addition to their kind."""

MANY_LISTS = 6
ROW_WIDGETS = ("text", "select", "checkbox")
ROW_FIELDS = 3
"""The number of fields in one row, and the widgets that can share a row."""
FOLD = "More settings"


@dataclass
class Option:
    value: str
    label: str
    chosen: bool = False


@dataclass
class Field:
    """A field for its template. `template` is that of its widget; `children` are its fields below, `folded` the
    advanced ones among them, under the title `fold`. `tag` is the kind of a list's item. `example` is the placeholder
    of an empty text field. `definition` is the title of the schema definition that contains the field."""

    name: str
    label: str
    pointer: Pointer
    widget: str
    value: Any = ""
    required: bool = False
    present: bool = True
    default: Any = ""
    options: list[Option] = field(default_factory=list)
    children: list[Field] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    suggestions: str = ""
    key_title: str = ""
    value_title: str = ""
    number: int = 0
    help: str = ""
    example: str = ""
    is_advanced: bool = False
    group: str = ""
    definition: str = ""
    folded: list[Field] = field(default_factory=list)
    fold: str = ""
    tag: str = ""

    @property
    def template(self) -> str:
        return f"web/form/_{self.widget}.html"

    @property
    def path(self) -> str:
        return str(self.pointer)

    @property
    def described_by(self) -> str:
        """Return the ids of the texts that describe the field, for `aria-describedby`."""
        texts = (("help", self.help), ("notes", self.diagnostics))
        return " ".join(f"{self.slug}-{name}" for name, text in texts if text)

    @property
    def slug(self) -> str:
        """Return an HTML id that depends only on the field's position in the document."""
        return "f" + re.sub(r"[^A-Za-z0-9]", lambda sign: f"_{ord(sign[0]):x}_", self.path)

    @property
    def filled(self) -> list[Field]:
        """Return the child fields that are shown at once: all, or if there are many lists, those with items."""
        return [child for child in self.children if child not in self.empty_lists]

    @property
    def empty_lists(self) -> list[Field]:
        """Return the empty lists that can be opened, if there are many lists."""
        if len(self.children) < MANY_LISTS or any(child.widget != "items" for child in self.children):
            return []
        return [child for child in self.children if not child.children and not child.diagnostics]

    @property
    def is_empty(self) -> bool:
        """Return whether the field is a choice without options."""
        return self.widget == "select" and not any(option.value for option in self.options)

    @property
    def is_unfolded(self) -> bool:
        return any(child.has_diagnostics for child in self.folded)

    @property
    def folded_count(self) -> int:
        """Return the number of advanced fields that are set."""
        return sum(child.set_count for child in self.folded)

    @property
    def set_count(self) -> int:
        """Return the number of values: the items of a list, the values below a group, else one or none."""
        if self.widget == "group" and self.present:
            return max(sum(child.set_count for child in (*self.children, *self.folded)), 1)
        return len(self.children) if self.widget == "items" else int(self.present)

    @property
    def has_diagnostics(self) -> bool:
        return bool(self.diagnostics) or any(child.has_diagnostics for child in (*self.children, *self.folded))

    @property
    def columns(self) -> list[Field]:
        """Return the fields of the first item if every item of the list fits into one row of a table."""
        rows = [item.children for item in self.children if item.widget == "item" and not item.value]
        is_table = len(rows) == len(self.children) and all(_fits_a_row(row) for row in rows)
        return rows[0] if rows and is_table else []

    @property
    def is_invalid(self) -> bool:
        return any(d.severity == "error" for d in self.diagnostics)


def _fits_a_row(fields: Sequence[Field]) -> bool:
    return len(fields) <= ROW_FIELDS and all(made.widget in ROW_WIDGETS for made in fields)


@dataclass(frozen=True)
class FormRules:
    """What the schema does not define: the values that a text field offers, the kinds that cannot be chosen and the
    hidden fields. Fields in `always_shown` are shown even if they have nothing to choose from."""

    options: Callable[[Pointer, str], Sequence[Option] | None] = lambda at, name: None
    suggestions: Callable[[str, Schema], str] = lambda name, schema: ""
    is_available: Callable[[str, str], bool] = lambda name, tag: True
    hidden: frozenset[str] = frozenset()
    always_shown: frozenset[str] = frozenset()


class FormMaker:
    """Makes the fields of one document."""

    def __init__(self, tree: SchemaTree, diagnostics: Iterable[Diagnostic], rules: FormRules) -> None:
        self.tree, self.rules = tree, rules
        self.left = list(diagnostics)

    def fields(self, schema: Schema, value: Any, at: Pointer) -> list[Field]:
        """Return the fields of an object, without constants and hidden fields."""
        found = self.tree.resolve(schema, value).schema
        fields = []
        for name, part, required in properties_of(found):
            here = value.get(name, MISSING) if isinstance(value, dict) else MISSING
            if name not in self.rules.hidden and "const" not in self.tree.resolve(part).schema:
                made = self.field(name, part, here, at / name, required=required and isinstance(value, dict))
                fields += [made] if made else []
        for each in fields:
            each.definition = found.get("definition", "")
        return fields

    def field(self, name: str, schema: Schema, value: Any, at: Pointer, *, required: bool = False) -> Field | None:
        """Return a field with its children; None if it has no value and nothing to choose from."""
        resolved = self.tree.resolve(schema, value)
        widget = self._widget(name, at, resolved, value)
        found = resolved.schema
        made = Field(
            name,
            _label(name, found),
            at,
            widget,
            required=required,
            present=value is not MISSING,
            default=_named(found, found.get("default", "")),
            help=_first_line(found),
            example=_example(found),
            is_advanced=found.get("advanced", False),
            group=found.get("group", ""),
        )
        MAKERS[widget](self, made, schema, resolved, value)
        if value is MISSING and widget in ("items", "select", "union") and self._is_closed(made):
            return None
        made.diagnostics = self.take(at, below=widget not in ("group", "items", "union"))
        return made

    def _is_closed(self, made: Field) -> bool:
        return (
            made.name not in self.rules.always_shown
            and bool(made.options)
            and all(not option.value for option in made.options)
        )

    def _widget(self, name: str, at: Pointer, resolved: Resolved, value: Any) -> str:
        if self.rules.options(at, name) is not None:
            return "select"
        if resolved.or_many:
            return "lines" if _is_scalar(resolved.type) else "items"
        if resolved.alternatives:
            return "union"
        found = resolved.schema
        if "enum" in found:
            return "select"
        match found.get("type"):
            case "boolean":
                return "checkbox"
            case "array":
                return "lines" if _is_scalar(self.tree.resolve(found["items"]).type) else "items"
            case "object":
                return "group" if "properties" in found else "map" if "additionalProperties" in found else "json"
            case "string" if found.get("multiline"):
                return "textarea"
            case _:
                return "text"

    def take(self, at: Pointer, *, below: bool) -> list[Diagnostic]:
        """Remove and return the diagnostics of a position, because each is shown at one position only."""
        mine = [d for d in self.left if d.path == at or (below and d.path[: len(at)] == at)]
        self.left = [d for d in self.left if d not in mine]
        return mine

    # --- by widget ------------------------------------------------------------------------------------------------

    def _make_text(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        made.value = "" if value is MISSING else text_of(value, resolved.type)
        made.suggestions = self.rules.suggestions(made.name, resolved.schema)

    def _make_select(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        known = self.rules.options(made.pointer, made.name)
        options = (
            list(known)
            if known is not None
            else [
                Option(name, _named(resolved.schema, name))
                for name in resolved.schema["enum"]
                if self._is_offered(made.name, name, value)
            ]
        )
        shown = "" if value is MISSING else plain_text(value)
        if shown and shown not in [option.value for option in options]:
            options.append(Option(shown, f"{shown} (unknown)"))
        if not made.required or not shown:
            options.insert(0, Option("", f"Default: {made.default}" if made.default else "– Choose –"))
        for option in options:
            option.chosen = option.value == shown
        made.options, made.value = options, shown

    def _make_checkbox(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        made.value = resolved.schema.get("default", False) if value is MISSING else value is True

    def _make_lines(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        kind = resolved.type if resolved.or_many else self.tree.resolve(resolved.schema["items"]).type
        items = value if isinstance(value, list) else [value] if resolved.or_many and value is not MISSING else []
        made.value = [text_of(item, kind) for item in items]
        made.suggestions = self.rules.suggestions(made.name, resolved.schema)

    def _make_map(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        inner = self.tree.resolve(resolved.schema["additionalProperties"])
        items = value.items() if isinstance(value, dict) else ()
        made.value = [(key, text_of(item, inner.type)) for key, item in items]
        made.suggestions = self.rules.suggestions("", inner.schema)
        made.key_title = resolved.schema.get("keyTitle", "Column")
        made.value_title = resolved.schema.get("valueTitle", "Value")

    def _make_json(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        made.value = "" if value is MISSING else json.dumps(value, indent=2, ensure_ascii=False)

    def _make_group(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        _fold_advanced(made, self.fields(schema, value, made.pointer))

    def _make_union(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        name = value.get(resolved.tag) if isinstance(value, dict) else None
        made.value = resolved.tag
        made.options = self._alternatives(made.name, resolved, name, schema)
        if name not in resolved.alternatives:
            made.options.insert(0, Option("", "– Choose –" if made.required else "None", chosen=True))
        elif not made.required:
            made.options.insert(0, Option("", "None"))
        if name in resolved.alternatives:
            _fold_advanced(made, self.fields(schema, value, made.pointer))

    def _make_items(self, made: Field, schema: Schema, resolved: Resolved, value: Any) -> None:
        item_schema = self.tree.item_of(schema)
        item = self.tree.resolve(item_schema)
        made.options = self._alternatives(made.name, item, None, item_schema)
        items = value if isinstance(value, list) else [] if value is MISSING else [value]
        for i, one in enumerate(items):
            pointer = made.pointer / i if isinstance(value, list) else made.pointer
            made.children.append(self._item(item_schema, item.tag, one, pointer, i))
        made.value = len(items)

    def _item(self, schema: Schema, tag: str, value: Any, at: Pointer, number: int) -> Field:
        names = [value.get(key) for key in (tag, *NAMING_FIELDS)] if isinstance(value, dict) else []
        label = " ".join(name for name in names if isinstance(name, str) and name) or f"{number + 1}"
        made = Field(str(number), label, at, "item", number=number, value=tag)
        made.tag = names[0] if tag and names and isinstance(names[0], str) else label
        made.help = _first_line(self.tree.resolve(schema, value).schema)
        _fold_advanced(made, self.fields(schema, value, at))
        made.diagnostics = self.take(at, below=False)
        return made

    def _alternatives(self, name: str, resolved: Resolved, chosen: Any, schema: Schema) -> list[Option]:
        return [
            Option(tag, _named(schema, tag), chosen=tag == chosen)
            for tag in resolved.alternatives
            if self._is_offered(name, tag, chosen)
        ]

    def _is_offered(self, name: str, tag: str, chosen: Any) -> bool:
        """Return whether the value can be chosen here or is already chosen. Unavailable kinds are not offered."""
        return tag == chosen or self.rules.is_available(name, tag)


MAKERS: dict[str, Callable[[FormMaker, Field, Schema, Resolved, Any], None]] = {
    "text": FormMaker._make_text,
    "textarea": FormMaker._make_text,
    "select": FormMaker._make_select,
    "checkbox": FormMaker._make_checkbox,
    "lines": FormMaker._make_lines,
    "map": FormMaker._make_map,
    "json": FormMaker._make_json,
    "group": FormMaker._make_group,
    "union": FormMaker._make_union,
    "items": FormMaker._make_items,
}
"""The functions that complete a field, by widget."""


def _fold_advanced(made: Field, fields: Sequence[Field]) -> None:
    made.children = [child for child in fields if not child.is_advanced]
    made.folded = [child for child in fields if child.is_advanced]
    made.fold = next((child.group for child in made.folded if child.group), FOLD)


def _is_scalar(kind: str | list[str]) -> bool:
    return isinstance(kind, list) or kind in ("string", "number", "integer")


def _label(name: str, schema: Schema) -> str:
    """Return the title with its unit."""
    title, unit = schema.get("title", name), schema.get("unit")
    return f"{title} ({unit})" if unit else title


def _named(schema: Schema, value: Any) -> str:
    """Return the label of a value in the form."""
    shown = plain_text(value)
    return str(schema.get("labels", {}).get(shown, shown))


def _example(schema: Schema) -> str:
    """Return the first example, if it fits into one line of text."""
    example = next(iter(schema.get("examples", ())), "")
    return f"Example: {example}" if isinstance(example, str) and example else ""


def _first_line(schema: Schema) -> str:
    return str(schema.get("description", "")).partition("\n")[0]
