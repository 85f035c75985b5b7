"""The right pane of the editor: the form of a node, or the pipeline's own settings with all diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import find_node
from flowapp.pipelines.neighbours import readers_of, unites
from flowapp.pipelines.target_forms import (
    ModeCard,
    cards_of,
    describe_quarantine,
    hide_unsupported_checks,
    missing_features,
    needs_connection,
    unsupported_fields,
)
from flowapp.taps.folder import tap_folder
from flowapp.web.document_form import document_tree
from flowapp.web.schema_form import Field, FormMaker, FormRules, Option
from flowapp.web.schema_tree import Schema
from ir.connectors import CONNECTORS, NODE_CONNECTORS
from ir.connectors.base import Connector
from ir.diagnostics import Diagnostic
from ir.hooks.custom_function import installed_functions
from ir.load_modes import LOAD_MODE_KINDS, MODE_FIELDS
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
"""The name in `ir.not_yet` of the family that a field belongs to or selects from."""

HIDDEN = frozenset({"id", "kind", "inputs", "ui", "loadMode", "$schema", "version", "nodes", "schedule"})
ALWAYS_SHOWN = frozenset({"connection"})
"""Fields that are shown even without options, because they say how to add one."""
HOOK_FIELDS = frozenset({"preHook", "postHook"})
COLUMN_FIELDS = frozenset(
    {"field", "column", "columns", "keys", "orderBy", "partitionBy", "watermarkColumn", "upsertKey"}
)
MODE_ALIASES = {str(Target.model_fields[name].alias) for name in MODE_FIELDS}


@dataclass
class Group:
    """Fields under a title. For load modes, `cards` are the modes, and `chosen` is the one whose fields are shown, with
    its diagnostics."""

    title: str
    fields: list[Field]
    cards: list[ModeCard] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def chosen(self) -> ModeCard | None:
        return next((card for card in self.cards if card.chosen), None)

    @property
    def is_essential(self) -> bool:
        return bool(self.cards) or any(not made.is_advanced for made in self.fields)

    @property
    def is_open(self) -> bool:
        """Return whether the group must start open."""
        return self.is_essential or any(made.has_diagnostics for made in self.fields)

    @property
    def set_count(self) -> int:
        """The number of advanced fields that are set, or of the items of a group that is one list."""
        if self.is_essential and not self.is_list:
            return 0
        return sum(made.set_count for made in self.fields)

    @property
    def is_single(self) -> bool:
        """Return whether the title of the group is enough, because it has one field with fields below."""
        return len(self.fields) == 1 and self.fields[0].widget in ("group", "items")

    @property
    def is_list(self) -> bool:
        return len(self.fields) == 1 and self.fields[0].widget == "items"


@dataclass
class Reader:
    """The options for the input of a node, or for all inputs of a node that unites rows (`several`)."""

    options: list[Option]
    diagnostics: list[Diagnostic]
    several: bool = False


@dataclass
class NodePanel:
    """The form of a node. `rest` holds the diagnostics that no field shows."""

    at: Pointer
    node: dict[str, Any]
    groups: list[Group]
    reader: Reader | None
    id_diagnostics: list[Diagnostic]
    rest: list[Diagnostic]

    @property
    def slug(self) -> str:
        return str(self.node.get("id", ""))

    @property
    def kind(self) -> str:
        return str(self.node.get("kind", ""))

    @property
    def reads_files(self) -> bool:
        """Return whether the node is a source of files."""
        connector = _connector_of(self.node)
        return connector is not None and connector.reads == "files" and connector.config is not None

    @property
    def offers_detection(self) -> str:
        """Return what can be detected from a sample: of files settings and columns, of web services columns."""
        if self.reads_files:
            return "Detect settings"
        return "Detect columns" if self.kind == "source" and self.node.get("connector") == "http_api" else ""

    @property
    def lists_streams(self) -> bool:
        """Return whether the source can list what it may read."""
        connector = _connector_of(self.node)
        return connector is not None and connector.lists_streams

    @property
    def caution(self) -> str:
        """What users of the source's connector must know before they trust it; empty if there is nothing."""
        connector = _connector_of(self.node)
        return connector.caution if connector is not None else ""

    @property
    def missing_features(self) -> str:
        """Why fields are absent that other targets have; empty if none is."""
        return missing_features(self.node)


@dataclass
class NodeDiagnostic:
    """A diagnostic with its node, if any."""

    diagnostic: Diagnostic
    node: str


@dataclass
class SettingsPanel:
    groups: list[Group]


def node_panel(view: DraftView, slug: str) -> NodePanel:
    """Build the form of a node. Raises FlowError if the draft has no such node."""
    document = view.last_good
    at, node = find_node(document, slug)
    mine = [d for d in view.diagnostics if d.path[:2] == tuple(at)] if view.document is not None else []
    maker = FormMaker(document_tree(), mine, _rules(view, node))
    ids = maker.take(at / "id", below=False)
    reader = _reader(document, at, node, maker.take(at / "inputs", below=True)) if _reads(node) else None
    groups = _groups(maker, node, at)
    fields, fed = [made for group in groups for made in group.fields], _fed(view, node)
    describe_quarantine(fields, fed)
    hide_unsupported_checks(fields, fed)
    return NodePanel(at, node, groups, reader, ids, maker.left)


def settings_panel(view: DraftView) -> SettingsPanel:
    document = view.last_good
    maker = FormMaker(document_tree(), view.diagnostics, FormRules(hidden=HIDDEN))
    fields = maker.fields(document_tree().document, document, ROOT)
    return SettingsPanel([Group(made.label, [made]) for made in fields])


def list_diagnostics(view: DraftView) -> list[NodeDiagnostic]:
    """Return all diagnostics with their nodes, errors first."""
    ids = {at: str(node.get("id", "")) for at, node in nodes_of(view.last_good)}
    ordered = sorted(view.diagnostics, key=lambda d: d.severity)
    return [NodeDiagnostic(d, ids.get(Pointer(d.path[:2]), "")) for d in ordered]


def _rules(view: DraftView, node: dict[str, Any]) -> FormRules:
    connections = [Option(name, name) for name in view.checked.found.names_for(node)]
    connectors = NODE_CONNECTORS.get(str(node.get("kind")), CONNECTORS)
    offered = [name for name in connectors if is_available("connector", name) or name == node.get("connector")]
    kinds = [connectors[name] for name in offered]
    tables: dict[str, Sequence[Option]] = {
        "connector": [Option(kind.name, f"{kind.title} – {kind.sentence}") for kind in kinds],
        "connection": connections,
        "with": _references(view.last_good, node),
        "module": _modules(view),
        **_taps(node),
        **_branch_options(view.last_good, node),
    }
    of_hooks: dict[str, Sequence[Option]] = {
        "connection": [Option(name, name) for name in view.checked.found.webhooks],
        "function": [Option(name, name) for name in installed_functions()],
    }

    def options(at: Pointer, name: str) -> Sequence[Option] | None:
        known = of_hooks if HOOK_FIELDS & set(at) else tables
        return [Option(o.value, o.label) for o in known[name]] if name in known else None

    suggestions = _source_suggestions if node.get("kind") == "source" else _suggestions
    settled = {"connector"} if offered == [node.get("connector")] else set()
    fed = _fed(view, node)
    hidden = HIDDEN | _unused(node, fed) | unsupported_fields(node, fed) | settled
    return FormRules(options, suggestions, is_available, hidden, ALWAYS_SHOWN)


def _fed(view: DraftView, node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the node and all nodes that get rows from it."""
    below = _readers_below(view.last_good, str(node.get("id")))
    return [other for _, other in nodes_of(view.last_good) if other.get("id") in below]


def _taps(node: dict[str, Any]) -> dict[str, Sequence[Option]]:
    """Return the installed taps, if the source reads from one."""
    if node.get("connector") != "singer":
        return {}
    known = [Option(tap.name, f"{tap.name} ({tap.package})") for tap in tap_folder().list()]
    return {"tap": known or [Option("", "No taps yet: an administrator adds them with flow tap add")]}


def _modules(view: DraftView) -> list[Option]:
    """Return the modules of the workspace by name, with the beginnings of their hashes."""
    builds = view.checked.modules
    known = [Option(build.ref, f"{build.name} ({build.sha256[:12]}, {build.added_at:%Y-%m-%d})") for build in builds]
    return known or [Option("", "No modules yet: an admin adds them on the page Custom transforms")]


def is_available(name: str, tag: str) -> bool:
    """Return whether this release and its installed packages support the selected value."""
    family = FAMILIES.get(name, "")
    return (family, tag) not in NOT_YET and (family, tag) not in _without_packages()


def _without_packages() -> frozenset[tuple[str, str]]:
    """Return the kinds whose required package is not installed."""
    return frozenset() if installed_functions() else frozenset({("hook", "custom_function")})


def _suggestions(name: str, schema: Schema) -> str:
    """Return the suggestions with the HTML id of their list."""
    if "pg:" in schema.get("pattern", ""):
        return "known-types"
    if "suggests" in schema:
        return f"known-{schema['suggests']}"
    return "known-columns" if name in COLUMN_FIELDS else ""


def _source_suggestions(name: str, schema: Schema) -> str:
    return "known-folders" if name == "path" else _suggestions(name, schema)


def _unused(node: dict[str, Any], fed: Iterable[dict[str, Any]]) -> frozenset[str]:
    """Return the fields to hide: those of other load modes, connections that are not needed, and unsupported fields,
    all unless the document sets them."""
    mode = next((mode for mode in LOAD_MODE_KINDS if mode.name == node.get("loadMode")), None)
    used = {str(Target.model_fields[name].alias) for name in mode.fields} if mode else MODE_ALIASES
    not_yet = {name for family, name in NOT_YET if family in ("target field", "check")}
    needless = set() if _takes_connection(node, fed) else {"connection"}
    return frozenset((MODE_ALIASES - used) | not_yet | needless) - _written(node)


def _takes_connection(node: dict[str, Any], fed: Iterable[dict[str, Any]]) -> bool:
    """Return whether the node can use a stored connection: a validate node if it needs one for its quarantine, a source
    according to its connector; true for an unknown connector."""
    if node.get("kind") == "validate":
        return needs_connection(fed)
    connector = _connector_of(node)
    return connector is None or connector.connection_kind is not None or connector.config is None


def _connector_of(node: dict[str, Any]) -> Connector | None:
    """Return the connector of a source; None for other nodes and for an unknown connector."""
    return CONNECTORS.get(str(node.get("connector"))) if node.get("kind") == "source" else None


def _written(node: dict[str, Any]) -> set[str]:
    below = [value for name in ("datasetLevel", "quarantine") if isinstance(value := node.get(name), dict)]
    return set(node).union(*below)


def _groups(maker: FormMaker, node: dict[str, Any], at: Pointer) -> list[Group]:
    schema = document_tree().document["$defs"].get(_type_name(node))
    if schema is None:
        return []
    properties = schema["properties"]
    group_of_modes = properties.get("loadMode", {}).get("group")
    modes = maker.take(at / "loadMode", below=False) if group_of_modes else []
    fields = maker.fields(schema, node, at)
    _describe_connection(fields, node)
    groups = []
    for title in schema["groups"]:
        found = [made for made in fields if properties[made.name].get("group") == title]
        if title == group_of_modes:
            groups.append(Group(title, found, cards_of(node), modes))
        elif found:
            groups.append(Group(title, found))
    return sorted(groups, key=lambda group: not group.is_essential)


def _describe_connection(fields: Iterable[Field], node: dict[str, Any]) -> None:
    """Say what an optional connection is for, and mark one that the connector needs as required."""
    connector = _connector_of(node)
    for made in fields:
        if made.name == "connection" and connector is not None:
            made.required = connector.needs_connection
            if connector.connection_for:
                made.help = f"Optional: only for {connector.connection_for}."
                made.options[0].label = "None"


def _type_name(node: dict[str, Any]) -> str:
    kind = node.get("kind")
    return NODES[kind].__name__ if isinstance(kind, str) and kind in NODES else ""


def _reads(node: dict[str, Any]) -> bool:
    return node.get("kind") != "source"


def _reader(document: Any, at: Pointer, node: dict[str, Any], diagnostics: list[Diagnostic]) -> Reader:
    inputs = node.get("inputs")
    chosen, several = list(_texts(inputs)), node.get("kind") == "transform" and unites(node)
    if node.get("kind") == "transform" and not several:
        chosen = chosen[:1]  # joins name further inputs
    below = _readers_below(document, str(node.get("id")))
    ids = [str(n.get("id")) for pointer, n in nodes_of(document) if pointer != at and n.get("kind") != "target"]
    options = [Option(name, name, name in chosen) for name in ids if name not in below]
    known = {option.value for option in options}
    options += [Option(name, f"{name} (unknown)", True) for name in chosen if name not in known]
    return Reader(options, diagnostics, several)


def _references(document: Any, node: dict[str, Any]) -> list[Option]:
    """Return the nodes in which a node may look up rows."""
    taken = _readers_below(document, str(node.get("id"))) | set(list(_texts(node.get("inputs")))[:1])
    found = (str(n.get("id")) for _, n in nodes_of(document) if n.get("kind") in ("source", "transform"))
    return [Option(name, name) for name in found if name not in taken]


def _branch_options(document: Any, node: dict[str, Any]) -> dict[str, Sequence[Option]]:
    """Return the nodes to which the branches of a branch node may lead: those that read from it."""
    if node.get("kind") != "branch":
        return {}
    readers = [Option(str(reader["id"]), str(reader["id"])) for reader in readers_of(document, node) if "id" in reader]
    return {"to": readers, "default": readers}


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
