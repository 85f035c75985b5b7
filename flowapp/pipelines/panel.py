"""The right pane of the editor: the form of a node, or the pipeline's own settings with all diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import document_tree, find_node
from flowapp.web.schema_form import Field, FormMaker, FormRules, Option
from flowapp.web.schema_tree import Schema
from ir.connectors import CONNECTORS, NODE_CONNECTORS
from ir.diagnostics import Diagnostic
from ir.hooks.custom_function import installed_functions
from ir.load_modes import LOAD_MODE_KINDS, MODE_FIELDS, LoadMode
from ir.nodes import NODES, Target
from ir.not_yet import NOT_YET
from ir.pointers import ROOT, Pointer

FAMILIES = {
    "connector": "source connector",
    "format": "format",
    "loadMode": "load mode",
    "ops": "op",
    "preHook": "hook",
    "postHook": "hook",
}
"""The family, as `ir.not_yet` calls it, of what a field chooses from or is."""

HIDDEN = frozenset({"id", "kind", "inputs", "ui", "loadMode", "$schema", "version", "nodes", "schedule"})
ALWAYS_SHOWN = frozenset({"connection"})
"""Fields that are shown before there is anything to choose: they say where to get it."""
HOOK_FIELDS = frozenset({"preHook", "postHook"})
COLUMN_FIELDS = frozenset({"field", "column", "columns", "keys", "orderBy", "watermarkColumn", "upsertKey"})
MODE_ALIASES = {str(Target.model_fields[name].alias) for name in MODE_FIELDS}


@dataclass
class ModeCard:
    mode: LoadMode
    chosen: bool
    available: bool
    diagnostics: list[Diagnostic] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)


@dataclass
class Group:
    title: str
    fields: list[Field]
    cards: list[ModeCard] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Return whether a group of advanced fields must start open."""
        return bool(self.cards) or any(not made.is_advanced or _has_diagnostics(made) for made in self.fields)


@dataclass
class Reader:
    """The picker of what a node reads from."""

    options: list[Option]
    diagnostics: list[Diagnostic]


@dataclass
class NodePanel:
    """The form of a node. `rest` holds the diagnostics that no field shows, `columns` the suggested column names."""

    at: Pointer
    node: dict[str, Any]
    groups: list[Group]
    reader: Reader | None
    id_diagnostics: list[Diagnostic]
    rest: list[Diagnostic]
    columns: list[str]

    @property
    def slug(self) -> str:
        return str(self.node.get("id", ""))

    @property
    def kind(self) -> str:
        return str(self.node.get("kind", ""))


@dataclass
class NodeDiagnostic:
    """A diagnostic with its node, if any."""

    diagnostic: Diagnostic
    node: str


@dataclass
class SettingsPanel:
    fields: list[Field]


def _has_diagnostics(made: Field) -> bool:
    return bool(made.diagnostics) or any(map(_has_diagnostics, (*made.children, *made.folded)))


def node_panel(view: DraftView, slug: str) -> NodePanel:
    """Build the form of a node. Raises FlowError if the draft has no such node."""
    document = view.last_good
    at, node = find_node(document, slug)
    mine = [d for d in view.checked.diagnostics if d.path[:2] == tuple(at)] if view.document is not None else []
    maker = FormMaker(document_tree(), mine, _rules(view, node))
    ids = maker.take(at / "id", below=False)
    reader = _reader(document, at, node, maker.take(at / "inputs", below=True)) if _reads(node) else None
    groups = _groups(maker, node, at)
    return NodePanel(at, node, groups, reader, ids, maker.left, _columns(view, document, node))


def settings_panel(view: DraftView) -> SettingsPanel:
    document = view.last_good
    maker = FormMaker(document_tree(), view.checked.diagnostics, FormRules(hidden=HIDDEN))
    fields = maker.fields(document_tree().document, document, ROOT)
    return SettingsPanel(fields)


def list_diagnostics(view: DraftView) -> list[NodeDiagnostic]:
    """Return all diagnostics with their nodes, errors first."""
    ids = {at: str(node.get("id", "")) for at, node in nodes_of(view.last_good)}
    ordered = sorted(view.checked.diagnostics, key=lambda d: d.severity)
    return [NodeDiagnostic(d, ids.get(Pointer(d.path[:2]), "")) for d in ordered]


def schedule_fields(view: DraftView) -> list[Field]:
    """Return the schedule's fields of the form."""
    tree, document = document_tree(), view.last_good
    mine = [d for d in view.checked.diagnostics if d.path[:1] == ("schedule",)]
    maker = FormMaker(tree, mine, FormRules())
    schema, value = tree.at(tree.document, document, ["schedule"])
    made = maker.field("schedule", schema, value, ROOT / "schedule")
    return [made] if made else []


def _rules(view: DraftView, node: dict[str, Any]) -> FormRules:
    connections = [Option(name, name) for name in view.checked.found.names_for(node)]
    connectors = NODE_CONNECTORS.get(str(node.get("kind")), CONNECTORS)
    tables: dict[str, Sequence[Option]] = {
        "connector": [Option(n, n, disabled=not is_available("connector", n)) for n in connectors],
        "connection": connections,
        "function": [Option(name, name) for name in installed_functions()],
    }
    of_hooks = {**tables, "connection": [Option(name, name) for name in view.checked.found.webhooks]}

    def options(at: Pointer, name: str) -> Sequence[Option] | None:
        known = of_hooks if HOOK_FIELDS & set(at) else tables
        return [Option(o.value, o.label, disabled=o.disabled) for o in known[name]] if name in known else None

    suggestions = _source_suggestions if node.get("kind") == "source" else _suggestions
    return FormRules(options, suggestions, is_available, HIDDEN | _unused(node), ALWAYS_SHOWN)


def is_available(name: str, tag: str) -> bool:
    """Return whether this release supports the selected value."""
    return (FAMILIES.get(name, ""), tag) not in NOT_YET


def _suggestions(name: str, schema: Schema) -> str:
    """Return the suggestions with the HTML id of their list."""
    if "pg:" in schema.get("pattern", ""):
        return "known-types"
    return "known-columns" if name in COLUMN_FIELDS else ""


def _source_suggestions(name: str, schema: Schema) -> str:
    return "known-folders" if name == "path" else _suggestions(name, schema)


def _unused(node: dict[str, Any]) -> frozenset[str]:
    """Return the fields to hide: those of other load modes, and unsupported fields that the document does not set."""
    mode = next((mode for mode in LOAD_MODE_KINDS if mode.name == node.get("loadMode")), None)
    used = {str(Target.model_fields[name].alias) for name in mode.fields} if mode else MODE_ALIASES
    not_yet = {name for family, name in NOT_YET if family in ("target field", "check")}
    needless = {"connection"} if node.get("kind") == "source" and not _needs_connection(node) else set()
    return frozenset((MODE_ALIASES - used) | not_yet | needless) - _written(node)


def _needs_connection(node: dict[str, Any]) -> bool:
    """Return whether the source needs a stored connection; true for an unknown connector."""
    if node.get("kind") != "source" or node.get("connector") not in CONNECTORS:
        return node.get("kind") == "source"
    connector = CONNECTORS[node["connector"]]
    return connector.connection_kind is not None or connector.config is None


def _written(node: dict[str, Any]) -> set[str]:
    checks = node.get("datasetLevel")
    return node.keys() | (checks.keys() if isinstance(checks, dict) else set())


def _groups(maker: FormMaker, node: dict[str, Any], at: Pointer) -> list[Group]:
    schema = document_tree().document["$defs"].get(_type_name(node))
    if schema is None:
        return []
    properties = schema["properties"]
    cards = _cards(maker, node, at) if "loadMode" in properties else []
    fields = maker.fields(schema, node, at)
    groups = []
    for title in schema["groups"]:
        found = [made for made in fields if properties[made.name].get("group") == title]
        has_cards = properties.get("loadMode", {}).get("group") == title
        groups.append(Group(title, _move_to_card(cards, found) if has_cards else found, cards if has_cards else []))
    return [group for group in groups if group.fields or group.cards]


def _type_name(node: dict[str, Any]) -> str:
    kind = node.get("kind")
    return NODES[kind].__name__ if isinstance(kind, str) and kind in NODES else ""


def _move_to_card(cards: list[ModeCard], fields: list[Field]) -> list[Field]:
    """Move the fields of load modes below the selected mode, so that its required fields are visible."""
    chosen = next((card for card in cards if card.chosen), None)
    if chosen is None:
        return fields
    chosen.fields = fields
    return []


def _cards(maker: FormMaker, node: dict[str, Any], at: Pointer) -> list[ModeCard]:
    """Return a card per load mode. The selected card shows the mode's diagnostics."""
    found = maker.take(at / "loadMode", below=False)
    chosen = node.get("loadMode")
    cards = [ModeCard(mode, mode.name == chosen, is_available("loadMode", mode.name)) for mode in LOAD_MODE_KINDS]
    for card in cards:
        card.diagnostics = found if card.chosen else []
    return cards


def _reads(node: dict[str, Any]) -> bool:
    return node.get("kind") != "source"


def _reader(document: Any, at: Pointer, node: dict[str, Any], diagnostics: list[Diagnostic]) -> Reader:
    inputs = node.get("inputs")
    chosen = [name for name in inputs if isinstance(name, str)] if isinstance(inputs, list) else []
    below = _readers_below(document, str(node.get("id")))
    ids = [str(n.get("id")) for pointer, n in nodes_of(document) if pointer != at and n.get("kind") != "target"]
    options = [Option(name, name, name in chosen) for name in ids if name not in below]
    known = {option.value for option in options}
    options += [Option(name, f"{name} (unknown)", True) for name in chosen if name not in known]
    return Reader(options, diagnostics)


def _readers_below(document: Any, slug: str) -> set[str]:
    """Return the ids of the node and of all nodes that read from it, directly or indirectly."""
    found, grown = {slug}, True
    while grown:
        more = {str(n.get("id")) for _, n in nodes_of(document) if found & set(_texts(n.get("inputs")))}
        grown = not more <= found
        found |= more
    return found


def _texts(value: Any) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _columns(view: DraftView, document: Any, node: dict[str, Any]) -> list[str]:
    """Return the known column names: those of the loaded tables and those declared in the document."""
    names = [column.name for table in view.checked.found.tables.values() if table for column in table.columns]
    for _, other in nodes_of(document):
        columns = other.get("columns")
        if isinstance(columns, list):
            names += [c["name"] for c in columns if isinstance(c, dict) and isinstance(c.get("name"), str)]
    return sorted(dict.fromkeys(names))
