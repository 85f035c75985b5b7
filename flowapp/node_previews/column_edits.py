"""Edits of a draft that a preview offers for a column, as JSON Patches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from executors.api import LONGEST_VALUE
from flowapp.pipelines.branch_edits import branches_to
from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.edits import find_node, require_node
from flowapp.pipelines.neighbours import joining, nodes_above, readers_of
from flowapp.pipelines.skeletons import NEW_RULE, new_node
from flowapp.web.document_form import document_tree
from ir.errors import FlowError
from ir.expressions import ExpressionError, parse_expression
from ir.expressions.literals import encode_literal
from ir.json_edits import Patch, PatchRefused
from ir.pointers import Pointer
from ir.rules import RULES

Node = dict[str, Any]
ALL = "*"


@dataclass(frozen=True, slots=True)
class ColumnEdit:
    """An edit of a column in the output of a node. `value` is the new name or type, the value to filter by, or the kind
    of rule; None is NULL. If several nodes read from the node, `reader` is the one whose branch changes, or `ALL`."""

    action: str
    node: str
    column: str
    type: str = "string"
    value: str | None = ""
    reader: str = ""


def column_patch(document: Any, edit: ColumnEdit) -> Patch:
    """Return the patch of one edit. Raises PatchRefused or FlowError."""
    make = ACTIONS.get(edit.action)
    if make is None:
        raise PatchRefused(f"Unknown action {edit.action!r}. Actions: {', '.join(ACTIONS)}.")
    return make(document, edit)


# --- ops ----------------------------------------------------------------------------------------------------------


def _rename(document: Any, edit: ColumnEdit) -> Patch:
    new = (edit.value or "").strip()
    if not new:
        raise FlowError("preview.edit_refused", "The new name is empty.", hint="Write a name.")
    return _add_op(document, edit, {"op": "rename", "columns": {edit.column: new}}) if new != edit.column else []


def _cast(document: Any, edit: ColumnEdit) -> Patch:
    return _add_op(document, edit, {"op": "cast", "columns": {edit.column: edit.value}})


def _drop(document: Any, edit: ColumnEdit) -> Patch:
    return _add_op(document, edit, {"op": "drop", "columns": [edit.column]})


def _keep_value(document: Any, edit: ColumnEdit) -> Patch:
    if len(edit.value or "") > LONGEST_VALUE:
        message = f"The value has more than {LONGEST_VALUE} characters, and the preview shows only the first of them."
        raise FlowError("preview.edit_refused", message, hint="Write the filter in the form of a transform.")
    return _add_op(document, edit, {"op": "filter", "where": _condition(edit)})


_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_CAST_TO = {"float": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP"}
"""Types whose values have several text forms, so that their texts cannot be compared."""
_TEXTS = ("string", "time", "uuid")
"""Types whose values are text in expressions, in the same form as in a preview."""
_HEX = r"\x"


def _condition(edit: ColumnEdit) -> str:
    """Return an expression that is true for rows with the value."""
    name, value = _named(edit.column), edit.value
    if value is None:
        return f"{name} IS NULL"
    kind = edit.type.partition("(")[0]
    if kind in ("integer", "bigint", "decimal", "float") and _NUMBER.fullmatch(value):
        return f"{name} = {value}"
    if kind == "boolean" and value in ("true", "false"):
        return f"{name} = {value}"
    if to := _CAST_TO.get(kind):
        return f"{name} = CAST({encode_literal(value)} AS {to})"
    if kind == "binary":
        return f"hex({name}) = {encode_literal(value.removeprefix(_HEX).upper())}"
    text = name if kind in _TEXTS else f"CAST({name} AS STRING)"
    return f"{text} = {encode_literal(value)}"


def _named(column: str) -> str:
    """Return a column as it is written in an expression."""
    try:
        if parse_expression(column).columns == (column,):
            return column
    except ExpressionError:
        pass
    return f"`{column.replace('`', '``')}`"


def _add_op(document: Any, edit: ColumnEdit, op: Node) -> Patch:
    """Append the op to the transform that makes the column, or to the one before it, or to a new one. A node from which
    other branches read stays unchanged, unless the edit is for all branches."""
    node = find_node(document, edit.node)[1]
    if (chosen := _chosen_reader(document, node, edit)) is not None:
        return _add_between(document, node, [chosen], op)
    child = node
    for above in (node, *nodes_above(document, node)):
        readers = readers_of(document, above)
        if above is not node and len(readers) > 1:
            return _add_between(document, above, [child], op)
        if above.get("kind") == "transform":
            return _append(document, above, "ops", op)
        if above.get("kind") == "source":
            return _add_between(document, above, readers, op)
        child = above
    raise PatchRefused(f"{edit.node} reads from no source yet.")


def _chosen_reader(document: Any, node: Node, edit: ColumnEdit) -> Node | None:
    """Return the reader whose branch the edit changes; None with at most one reader, or if the edit is for all
    branches. Raises FlowError if several readers exist and none is chosen."""
    readers = readers_of(document, node)
    if len(readers) < 2 or edit.reader == ALL:
        return None
    for reader in readers:
        if reader.get("id") == edit.reader:
            return reader
    names = ", ".join(str(reader.get("id")) for reader in readers)
    raise FlowError(
        "preview.edit_refused",
        f"Several nodes read from {edit.node}: {names}.",
        hint="Choose for which of them the change is.",
    )


def _add_between(document: Any, above: Node, readers: list[Node], op: Node) -> Patch:
    """Insert the op at the start of the only reader if that is a transform, else in a new transform."""
    if len(readers) == 1 and readers[0].get("kind") == "transform":
        place = find_node(document, readers[0]["id"])[0]
        ops = readers[0].get("ops")
        path = str(place / "ops" / 0) if isinstance(ops, list) else str(place / "ops")
        return [
            require_node(place, readers[0]),
            {"op": "add", "path": path, "value": op if isinstance(ops, list) else [op]},
        ]
    return _insert_between(document, above, "transform", readers or joining(document, above), {"ops": [op]})


# --- rules and keys -----------------------------------------------------------------------------------------------


def _add_rule(document: Any, edit: ColumnEdit) -> Patch:
    """Add a rule to the node itself, else to the next validate node before the path branches, else to a new one."""
    kind = edit.value or ""
    if kind not in RULES:
        raise FlowError("rule.type_unknown", f"Unknown rule {kind!r}.", hint=f"Rules: {', '.join(RULES)}.")
    node, rule = find_node(document, edit.node)[1], {**_skeleton(kind), **NEW_RULE, "field": edit.column}
    chosen = _chosen_reader(document, node, edit)
    chain = _until_parting(document, chosen or node)
    validate = next((other for other in chain if other.get("kind") == "validate"), None)
    if validate is not None:
        return _append(document, validate, "rowLevel", rule)
    if joining(document, chain[-1]):
        raise PatchRefused(f"{edit.node} is only looked up by joins. Rules evaluate the rows that are loaded.")
    above, readers = _place_of_validate(document, node, chosen, chain)
    return _insert_between(document, above, "validate", readers, {"rowLevel": [rule]})


def _until_parting(document: Any, node: Node) -> list[Node]:
    """Return the node and those below it, up to the first one from which several nodes read."""
    chain = [node]
    while len(readers := readers_of(document, chain[-1])) == 1 and readers[0] not in chain:
        chain.append(readers[0])
    return chain


def _place_of_validate(document: Any, node: Node, chosen: Node | None, chain: list[Node]) -> tuple[Node, list[Node]]:
    """Return the node that a new validate node reads from, and the nodes that read from the new node. It is before the
    target."""
    if last := [other for other in chain if other.get("kind") != "target"][-1:]:
        return last[0], readers_of(document, last[0])
    if chosen is not None:
        return node, [chosen]
    above = nodes_above(document, node)
    if not above:
        raise PatchRefused(f"{node['id']} reads from no node yet.")
    return above[0], [node]


def added_rule(before: Any, after: Any) -> tuple[str, Pointer] | None:
    """Return the validate node that has one rule more than before, and the position of that rule."""
    had = {node.get("id"): len(node.get("rowLevel") or []) for _, node in nodes_of(before)}
    for _, node in nodes_of(after):
        rules = node.get("rowLevel") or []
        if node.get("kind") == "validate" and len(rules) > had.get(node.get("id"), 0):
            return str(node.get("id")), find_node(after, node["id"])[0] / "rowLevel" / (len(rules) - 1)
    return None


def _skeleton(kind: str) -> Node:
    """Return a rule with its required fields."""
    tree = document_tree()
    empty = {"nodes": [{"kind": "validate", "rowLevel": []}]}
    rules, _ = tree.at(tree.document, empty, ["nodes", 0, "rowLevel"])
    skeleton: Node = tree.skeleton(tree.item_of(rules), kind)
    return skeleton


def _use_as_key(document: Any, edit: ColumnEdit) -> Patch:
    """Set the load mode to upsert and add the column to the key."""
    node = find_node(document, edit.node)[1]
    chain = _until_parting(document, _chosen_reader(document, node, edit) or node)
    target = chain[-1] if chain[-1].get("kind") == "target" else None
    if target is None:
        where = "Add a target, then choose its key."
        if readers_of(document, chain[-1]):
            where = "Select the target whose key it is, and use the column there."
        raise FlowError("preview.edit_refused", f"{edit.node} leads to no single target.", hint=where)
    at, key = find_node(document, target["id"])[0], target.get("upsertKey") or []
    is_upsert = target.get("loadMode") == "upsert"
    names = [*(key if is_upsert and isinstance(key, list) else []), edit.column]
    mode: Patch = [] if is_upsert else [_set(at, target, "loadMode", "upsert")]
    return [require_node(at, target), *mode, _set(at, target, "upsertKey", list(dict.fromkeys(names)))]


# --- patches ------------------------------------------------------------------------------------------------------


def _append(document: Any, node: Node, field: str, value: Any) -> Patch:
    at = find_node(document, node["id"])[0]
    if isinstance(node.get(field), list):
        return [require_node(at, node), {"op": "add", "path": f"{at / field}/-", "value": value}]
    return [require_node(at, node), {"op": "add", "path": str(at / field), "value": [value]}]


def _insert_between(document: Any, above: Node, kind: str, readers: list[Node], fields: Mapping[str, Any]) -> Patch:
    """Insert a new node between `above` and its readers. Joins and branches that name `above` or a reader name the new
    node instead."""
    if above.get("kind") == "branch" and len(readers) > 1:
        raise PatchRefused(f"The branches of {above['id']} lead to several nodes. Change one of them at a time.")
    taken = [str(node.get("id")) for _, node in nodes_of(document)]
    pipeline = str(document.get("id", "")) if isinstance(document, dict) else ""
    made = {**new_node(kind, taken, "", pipeline, above["id"]), **fields}
    patch: Patch = []
    for reader in readers:
        at = find_node(document, reader["id"])[0]
        index = reader["inputs"].index(above["id"])
        patch += [require_node(at, reader), {"op": "replace", "path": str(at / "inputs" / index), "value": made["id"]}]
        patch += [
            {"op": "replace", "path": str(at / "ops" / i / "with"), "value": made["id"]}
            for i, op in enumerate(reader.get("ops") or ())
            if isinstance(op, dict) and op.get("with") == above["id"]
        ]
        if above.get("kind") == "branch":
            places = branches_to(document, reader["id"])
            patch += [{"op": "replace", "path": str(place), "value": made["id"]} for place in places]
    return [*patch, {"op": "add", "path": "/nodes/-", "value": made}]


def _set(at: Pointer, node: Node, field: str, value: Any) -> dict[str, Any]:
    return {"op": "replace" if field in node else "add", "path": str(at / field), "value": value}


ACTIONS: dict[str, Callable[[Any, ColumnEdit], Patch]] = {
    "rename": _rename,
    "cast": _cast,
    "drop": _drop,
    "keep_value": _keep_value,
    "add_rule": _add_rule,
    "use_as_key": _use_as_key,
}
