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
from ir.connectors import CONNECTORS, TARGET_CONNECTORS
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

GROUPS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "source": (
        ("What", ("name", "description")),
        ("Where", ("connector", "connection", "config")),
        ("Columns", ("columns",)),
    ),
    "transform": (("What", ("name", "description")), ("How", ("ops",))),
    "validate": (
        ("What", ("name", "description")),
        ("Row rules", ("rowLevel",)),
        ("Dataset checks", ("datasetLevel",)),
        ("Rejected rows", ("quarantine",)),
    ),
    "target": (
        ("What", ("name", "description")),
        ("Where", ("connector", "connection", "schema", "table")),
        ("How", ("loadMode", "upsertKey", "orderBy", "watermarkColumn", "watermarkLag", "watermarkLead", "cdcSource")),
        (
            "Guards",
            (
                "failOnEmptySource",
                "failAtRejectedPct",
                "onTypeMismatch",
                "emptyAsNull",
                "backupBeforeLoad",
                "hold",
                "expectedRowCountDelta",
            ),
        ),
        ("Hooks", ("preHook", "postHook")),
        ("Columns of a table that does not exist yet", ("columns",)),
    ),
}
"""By kind of node: its groups of fields in their order. What is named in none comes last, under More."""

HELP = {
    "upsertKey": "Columns that tell one row from another; a table that is there needs a unique constraint over exactly "
    "these.",
    "watermarkColumn": "A column that grows and is never empty. Rows below its highest value so far are not loaded; "
    "values later than the database's clock do not count for it.",
    "watermarkLag": "How far below the mark late rows are still taken: 15m or 2d, a number where the mark is one.",
    "watermarkLead": "How far beyond the clock of the target's database the mark may go: 2h for local times ahead of "
    "UTC, 400d for plans. Without it, not at all.",
    "orderBy": "A column. Of rows with the same key the one with its highest value stays; in an upsert the "
    "table keeps a newer row that it has.",
    "hold": "A load beyond one of these limits waits, staged, until a person approves or discards it.",
    "hold.maxDecreasePct": "By how many percent the table may shrink.",
    "maxKeyLossPct": "How many percent of the table's keys may be gone afterwards.",
    "maxNullRateIncreasePct": "By how many percentage points more values of a column may be NULL.",
    "expectedRowCountDelta": "A load much smaller or bigger than those before it is loaded, and told in System Health.",
    "windowRuns": "How many loads before it make the mean that a load is compared with. Told from the fourth load on.",
    "expectedRowCountDelta.maxDecreasePct": "By how many percent a load may be smaller than that mean.",
    "expectedRowCountDelta.maxIncreasePct": "By how many percent a load may be bigger than that mean.",
    "backupBeforeLoad": "The table is kept before each load for a week; the Backups page puts it back.",
    "failOnEmptySource": "A source without a row fails the run instead of emptying the table.",
    "failAtRejectedPct": "With at least this many percent of the rows rejected nothing is loaded; 0 sets no limit.",
    "onTypeMismatch": "A value that does not fit its column stops the run, rejects its row, or becomes NULL.",
    "emptyAsNull": "An empty text is loaded as NULL where the column may be NULL.",
    "statement": "One statement that looks after tables, such as ANALYZE orders; only admins may save it.",
    "view": 'The materialized view, as schema.view: public."My View".',
    "concurrently": "Readers are not blocked; the view needs a unique index.",
    "url": "A bare public https address. One that holds a secret belongs into a webhook connection.",
    "function": "Registered by an installed package, in the entry-point group flow.hooks.",
    "when": "pre_swap runs a post-hook of blue_green when the new table is filled and before it takes its place.",
    "path": "A folder below the workspace's own; the Files page puts files there.",
    "query": "One SELECT that changes nothing. Write tables with their schema: public.orders.",
    "quarantine": "Rejected rows go to this table of the target's database.",
}
HELP_OF = {
    "target": {"path": "Behind the URL of the connection, such as /loaded."},
    "validate": {
        "when": "A Spark SQL condition, such as country = 'US': the rule looks at the rows for which it is true.",
        "expression": "A Spark SQL condition, such as ends >= begins: rows for which it is false fail.",
        "maxViolations": "With more violations than this nothing is loaded.",
        "maxViolationPct": "With more than this many percent of the rows it looks at nothing is loaded.",
        "values": "What looks like a number is compared as one; in quotes it is a text.",
        "pattern": "RE2 syntax, found anywhere in the text unless anchored by ^ and $.",
        "schema": "A JSON Schema of draft 2020-12; references stay within it.",
        "withinHours": "Counted from the run's clock in UTC.",
        "query": "One SELECT over input, the staged rows, that gives the wrong ones. Other tables take their schema.",
        "message": "What it means if rows come back.",
        "allowOthers": "Further columns may arrive.",
    },
}
"""By kind of node, where a field of the same name means something else."""
LABELS = {
    "rowLevel": "Rules",
    "datasetLevel": "Checks",
    "config": "Files",
    "ops": "Operations",
    "customSql": "Custom SQL",
    "failAtRejectedPct": "Fail at rejected rows in %",
    "fkIntegrity": "Foreign keys",
    "maxViolationPct": "Max violations in %",
}
DOCS = {"Hooks": "hooks"}
"""By group: the page of `docs/` that says more."""
FOLDED = {"validate": ("Condition and limits", frozenset({"when", "maxViolations", "maxViolationPct"}))}
"""By kind of node: which fields of an item stand under a title of their own."""
CLOSED = ("What", "Columns", "Columns of a table that does not exist yet", "Hooks")
"""Groups that are opened when they are needed."""

HIDDEN = frozenset({"id", "kind", "inputs", "ui", "loadMode", "$schema", "version", "nodes", "schedule"})
KEPT = frozenset({"connection"})
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
        return self.title not in CLOSED or any(map(_has_diagnostics, self.fields))

    @property
    def docs(self) -> str:
        return DOCS.get(self.title, "")


@dataclass
class Reader:
    """The picker of what a node reads from."""

    options: list[Option]
    diagnostics: list[Diagnostic]


@dataclass
class NodePanel:
    """`rest` are the diagnostics that no field shows, `columns` the names that may be meant in the node's fields."""

    at: Pointer
    node: dict[str, Any]
    groups: list[Group]
    reader: Reader | None
    id_diagnostics: list[Diagnostic]
    rest: list[Diagnostic]
    columns: list[str]

    @property
    def ident(self) -> str:
        return str(self.node.get("id", ""))

    @property
    def kind(self) -> str:
        return str(self.node.get("kind", ""))


@dataclass
class Place:
    """A diagnostic with the node that it belongs to, if any."""

    diagnostic: Diagnostic
    node: str


@dataclass
class SettingsPanel:
    fields: list[Field]
    places: list[Place]


def _has_diagnostics(made: Field) -> bool:
    return bool(made.diagnostics) or any(map(_has_diagnostics, (*made.children, *made.folded)))


def node_panel(view: DraftView, ident: str) -> NodePanel:
    """Raises FlowError if the draft has no such node."""
    document = view.last_good
    at, node = find_node(document, ident)
    mine = [d for d in view.checked.diagnostics if d.path[:2] == tuple(at)] if view.document is not None else []
    maker = FormMaker(document_tree(), mine, _rules(view, node))
    ids = maker.take(at / "id", below=False)
    reader = _reader(document, at, node, maker.take(at / "inputs", below=True)) if _reads(node) else None
    groups = _groups(maker, node, at)
    return NodePanel(at, node, groups, reader, ids, maker.left, _columns(view, document, node))


def settings_panel(view: DraftView) -> SettingsPanel:
    document = view.last_good
    maker = FormMaker(document_tree(), view.checked.diagnostics, FormRules(hidden=HIDDEN, help=HELP))
    fields = maker.fields(document_tree().document, document, ROOT)
    return SettingsPanel(fields, places(view))


def places(view: DraftView) -> list[Place]:
    """All diagnostics, errors first, each with its node."""
    ids = {at: str(node.get("id", "")) for at, node in nodes_of(view.last_good)}
    ordered = sorted(view.checked.diagnostics, key=lambda d: d.severity)
    return [Place(d, ids.get(Pointer(d.path[:2]), "")) for d in ordered]


def schedule_fields(view: DraftView) -> list[Field]:
    """The schedule's part of the form."""
    tree, document = document_tree(), view.last_good
    mine = [d for d in view.checked.diagnostics if d.path[:1] == ("schedule",)]
    maker = FormMaker(tree, mine, FormRules())
    schema, value = tree.at(tree.document, document, ["schedule"])
    made = maker.field("schedule", schema, value, ROOT / "schedule")
    return [made] if made else []


def _rules(view: DraftView, node: dict[str, Any]) -> FormRules:
    connections = [Option(name, name) for name in view.checked.found.known]
    connectors = TARGET_CONNECTORS if node.get("kind") == "target" else CONNECTORS
    tables: dict[str, Sequence[Option]] = {
        "connector": [Option(n, n, disabled=not is_available("connector", n)) for n in connectors],
        "connection": connections,
        "function": [Option(name, name) for name in installed_functions()],
    }
    of_hooks = {**tables, "connection": [Option(name, name) for name in view.checked.found.webhooks]}

    def options(at: Pointer, name: str) -> Sequence[Option] | None:
        known = of_hooks if HOOK_FIELDS & set(at) else tables
        return [Option(o.value, o.label, disabled=o.disabled) for o in known[name]] if name in known else None

    labels = LABELS | ({"config": "Rows"} if _reads_snapshot(node) else {})
    help_texts = HELP | HELP_OF.get(str(node.get("kind")), {})
    suggestions = _source_suggestions if node.get("kind") == "source" else _suggestions
    fold = FOLDED.get(str(node.get("kind")), ("", frozenset()))
    return FormRules(options, suggestions, is_available, HIDDEN | _unused(node), help_texts, labels, *fold, KEPT)


def is_available(name: str, tag: str) -> bool:
    """Whether this release can run what is chosen."""
    return (FAMILIES.get(name, ""), tag) not in NOT_YET


def _suggestions(name: str, schema: Schema) -> str:
    """The list of suggestions, by its HTML id."""
    if "pg:" in schema.get("pattern", ""):
        return "known-types"
    return "known-columns" if name in COLUMN_FIELDS else ""


def _source_suggestions(name: str, schema: Schema) -> str:
    return "known-folders" if name == "path" else _suggestions(name, schema)


def _unused(node: dict[str, Any]) -> frozenset[str]:
    """Fields that are left out: those of other load modes, and those that this release cannot run, unless written."""
    mode = next((mode for mode in LOAD_MODE_KINDS if mode.name == node.get("loadMode")), None)
    used = {str(Target.model_fields[name].alias) for name in mode.fields} if mode else MODE_ALIASES
    not_yet = {name for family, name in NOT_YET if family in ("target field", "check")}
    needless = {"connection"} if node.get("kind") == "source" and not _needs_connection(node) else set()
    return frozenset((MODE_ALIASES - used) | not_yet | needless) - _written(node)


def _needs_connection(node: dict[str, Any]) -> bool:
    """Whether this is a source that reads through a stored connection; so it may be where nobody knows."""
    if node.get("kind") != "source" or node.get("connector") not in CONNECTORS:
        return node.get("kind") == "source"
    connector = CONNECTORS[node["connector"]]
    return connector.needs_connection or connector.config is None


def _reads_snapshot(node: dict[str, Any]) -> bool:
    """Whether this is a source of rows and not of files; so it may be where nobody knows."""
    connector = CONNECTORS.get(str(node.get("connector")))
    return node.get("kind") == "source" and (connector is None or connector.reads == "snapshot")


def _written(node: dict[str, Any]) -> set[str]:
    checks = node.get("datasetLevel")
    return node.keys() | (checks.keys() if isinstance(checks, dict) else set())


def _groups(maker: FormMaker, node: dict[str, Any], at: Pointer) -> list[Group]:
    schema = document_tree().document["$defs"].get(_type_name(node))
    if schema is None:
        return []
    cards = _cards(maker, node, at) if "loadMode" in schema["properties"] else []
    fields = {made.name: made for made in maker.fields(schema, node, at)}
    groups = []
    for title, names in GROUPS.get(str(node.get("kind")), ()):
        found = [fields.pop(name) for name in names if name in fields]
        if "loadMode" in names:
            found = _move_to_card(cards, found)
        groups.append(Group(title, found, cards if "loadMode" in names else []))
    groups.append(Group("More", list(fields.values())))
    return [group for group in groups if group.fields or group.cards]


def _type_name(node: dict[str, Any]) -> str:
    kind = node.get("kind")
    return NODES[kind].__name__ if isinstance(kind, str) and kind in NODES else ""


def _move_to_card(cards: list[ModeCard], fields: list[Field]) -> list[Field]:
    """Fields that belong to load modes stand below the chosen one, so that what it needs is seen at once."""
    chosen = next((card for card in cards if card.chosen), None)
    if chosen is None:
        return fields
    chosen.fields = fields
    return []


def _cards(maker: FormMaker, node: dict[str, Any], at: Pointer) -> list[ModeCard]:
    """All load modes. What is wrong with the chosen one stands at its card."""
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
    ids = [str(n.get("id")) for place, n in nodes_of(document) if place != at and n.get("kind") != "target"]
    options = [Option(name, name, name in chosen) for name in ids if name not in below]
    known = {option.value for option in options}
    options += [Option(name, f"{name} (unknown)", True) for name in chosen if name not in known]
    return Reader(options, diagnostics)


def _readers_below(document: Any, ident: str) -> set[str]:
    """The ids of all nodes that read from a node, directly or through others, and its own."""
    found, grown = {ident}, True
    while grown:
        more = {str(n.get("id")) for _, n in nodes_of(document) if found & set(_texts(n.get("inputs")))}
        grown = not more <= found
        found |= more
    return found


def _texts(value: Any) -> Iterable[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _columns(view: DraftView, document: Any, node: dict[str, Any]) -> list[str]:
    """Names of columns that are known: of the tables that are loaded, and those declared in the document."""
    names = [column.name for table in view.checked.found.tables.values() if table for column in table.columns]
    for _, other in nodes_of(document):
        columns = other.get("columns")
        if isinstance(columns, list):
            names += [c["name"] for c in columns if isinstance(c, dict) and isinstance(c.get("name"), str)]
    return sorted(dict.fromkeys(names))
