"""Convert the actions of the editor's forms to JSON Patches. `drafts` applies them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import QueryDict

from flowapp.pipelines.branch_edits import add_branch, branches_to, drop_branches
from flowapp.pipelines.checking import nodes_of
from flowapp.pipelines.join_edits import drop_references, follow_reference, is_reference
from flowapp.pipelines.neighbours import unites
from flowapp.pipelines.schedule_form import read_schedule
from flowapp.pipelines.skeletons import NEW_RULE, may_read, new_node
from flowapp.web.document_form import document_tree
from flowapp.web.form_values import read_lines, read_map, read_value
from flowapp.web.schema_tree import MISSING, Schema
from ir.connectors import CONNECTORS
from ir.errors import FlowError
from ir.json_edits import Patch, PatchRefused, resolve_pointer, value_at
from ir.pointers import Pointer


def form_patch(document: Any, data: QueryDict) -> Patch:
    """Return the patch of one form action. Raises PatchRefused or FlowError.

    `path` points into the document as the form displayed it. In a node's form, `at` points to the node at that time. If
    the node has moved since, the patch uses its new position.
    """
    action = ACTIONS.get(data.get("action", ""))
    if action is None:
        raise PatchRefused(f"Unknown action {data.get('action', '')!r}. Actions: {', '.join(ACTIONS)}.")
    path, shown_at, slug = data.get("path", ""), data.get("at", ""), data.get("node", "")
    if slug and shown_at and path.startswith(f"{shown_at}/"):
        at, node = find_node(document, slug)
        patch = action(document, str(at) + path[len(shown_at) :], data)
        return [require_node(at, node), *patch] if patch else []
    return action(document, path, data)


def find_node(document: Any, slug: str) -> tuple[Pointer, dict[str, Any]]:
    """Return the position of the first node with that id, and the node. Raises FlowError."""
    for at, node in nodes_of(document):
        if node.get("id") == slug:
            return at, node
    raise FlowError(
        "node.unknown", f"The draft has no node {slug!r}.", hint="It was renamed or removed in the meantime."
    )


def _schema_at(document: Any, path: str) -> tuple[Schema, Any, list[str | int]]:
    """Return the schema and the value at a position."""
    tree, steps = document_tree(), _steps(document, path)
    try:
        schema, value = tree.at(tree.document, document, steps)
    except KeyError:
        raise PatchRefused(f"Nothing is allowed at {path}.") from None
    return schema, value, steps


def _steps(document: Any, path: str) -> list[str | int]:
    """Return the steps of a pointer, with indices of lists as numbers."""
    steps: list[str | int] = []
    value = document
    for part in path.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        step: str | int = int(name) if isinstance(value, list) and name.isdecimal() and len(name) < 10 else name
        steps.append(step)
        inside = isinstance(value, dict) and step in value
        if isinstance(value, list) and isinstance(step, int):
            inside = step < len(value)
        value = value[step] if inside else MISSING
    return steps


# --- actions ------------------------------------------------------------------------------------------------------


def _set(document: Any, path: str, data: QueryDict) -> Patch:
    schema, value, steps = _schema_at(document, path)
    found = document_tree().resolve(schema, value)
    new = _posted_lines(found.schema, data) if found.or_many else _posted(found.schema, data)
    if len(steps) == 3 and steps[-1] == "connector" and new != value and new in CONNECTORS:
        return [*put(document, steps, new), *_new_config(document, steps[:2], str(new))]
    if new is MISSING:
        return [] if value is MISSING else [{"op": "remove", "path": path}]
    followed = follow_reference(document, steps, value, new) if is_reference(steps) else []
    return [*put(document, steps, new), *followed]


def _new_config(document: Any, node: list[str | int], connector: str) -> Patch:
    """Replace the settings by those that the new connector starts with; the old ones do not apply to it."""
    settings = CONNECTORS[connector].starts_with
    return (
        put(document, [*node, "config"], dict(settings)) if settings and _is_there(document, [*node, "config"]) else []
    )


def _posted_lines(schema: Schema, data: QueryDict) -> Any:
    """Return one line as text, several as a list."""
    lines = read_lines(schema, data.getlist("line"))
    return lines[0] if len(lines) == 1 else lines or MISSING


def _posted(schema: Schema, data: QueryDict) -> Any:
    if schema.get("type") == "boolean":
        return data.get("value") == "true"
    if schema.get("type") == "array":
        items = document_tree().resolve(schema["items"]).schema
        return read_lines(items, data.getlist("line")) or MISSING
    if isinstance(schema.get("additionalProperties"), dict):
        inner = document_tree().resolve(schema["additionalProperties"]).schema
        return read_map(inner, data.getlist("key"), data.getlist("value"))
    return read_value(schema, data.get("value", "").replace("\r\n", "\n"))


def put(document: Any, steps: list[str | int], value: Any) -> Patch:
    """Set a member and create missing parent objects."""
    for depth in range(1, len(steps)):
        if not _is_there(document, steps[:depth]):
            for step in reversed(steps[depth:]):
                value = {str(step): value}
            return [{"op": "add", "path": str(Pointer(steps[:depth])), "value": value}]
    replaces = _is_there(document, steps)
    return [{"op": "replace" if replaces else "add", "path": str(Pointer(steps)), "value": value}]


def _is_there(document: Any, steps: list[str | int]) -> bool:
    try:
        value_at(document, Pointer(steps))
    except PatchRefused:
        return False
    return True


def _remove(document: Any, path: str, data: QueryDict) -> Patch:
    return [{"op": "remove", "path": str(resolve_pointer(document, path))}]


def _choose(document: Any, path: str, data: QueryDict) -> Patch:
    """Switch to another alternative of a union; keep the common fields."""
    schema, value, steps = _schema_at(document, path)
    tree = document_tree()
    found = tree.resolve(schema, value)
    tag = data.get("tag", "")
    if tag not in found.alternatives:
        return [] if value is MISSING else _remove(document, path, data)
    new = tree.skeleton(schema, tag)
    shared = found.alternatives[tag]["properties"].keys() - {found.tag}
    common = {name: part for name, part in value.items() if name in shared} if isinstance(value, dict) else {}
    return put(document, steps, {**new, **common})


def _append(document: Any, path: str, data: QueryDict) -> Patch:
    """Append an item; a single value becomes a list of two."""
    schema, value, steps = _schema_at(document, path)
    tree = document_tree()
    item = tree.skeleton(tree.item_of(schema), data.get("tag", ""))
    if len(steps) == 3 and steps[-1] == "rowLevel":
        item |= NEW_RULE
    if isinstance(value, list):
        return [{"op": "add", "path": f"{path}/-", "value": item}]
    if value is MISSING:
        return put(document, steps, item if tree.resolve(schema).or_many else [item])
    return put(document, steps, [value, item])


def _move(step: int) -> Callable[[Any, str, QueryDict], Patch]:
    def move(document: Any, path: str, data: QueryDict) -> Patch:
        pointer = resolve_pointer(document, path)
        holder, index = value_at(document, pointer.parent), pointer[-1]
        if not isinstance(holder, list) or not isinstance(index, int) or not 0 <= index + step < len(holder):
            raise PatchRefused(f"{path} cannot be moved there.")
        return [{"op": "move", "from": str(pointer), "path": str(pointer.parent / (index + step))}]

    return move


def _add_node(document: Any, path: str, data: QueryDict) -> Patch:
    """Add a node. Its input is the only node that nothing reads from, if there is exactly one."""
    kind, taken = data.get("kind", ""), [str(node.get("id")) for _, node in nodes_of(document)]
    pipeline = document.get("id", "") if isinstance(document, dict) else ""
    before = _loose_end(document, kind)
    try:
        node = new_node(kind, taken, data.get("connection", ""), str(pipeline), before)
    except KeyError as error:
        raise PatchRefused(str(error)) from None
    if isinstance(document, dict) and isinstance(document.get("nodes"), list):
        return [*add_branch(document, before, node["id"]), {"op": "add", "path": "/nodes/-", "value": node}]
    return [{"op": "add", "path": "/nodes", "value": [node]}]


def _loose_end(document: Any, kind: str) -> str:
    """Return the only node without readers from which a node of that kind may read, or "" if it is not unique."""
    loose = [
        slug
        for _, node in nodes_of(document)
        if isinstance(slug := node.get("id"), str)
        and may_read(kind, str(node.get("kind")))
        and not _readers(document, slug)
    ]
    return loose[0] if len(loose) == 1 else ""


def _delete_node(document: Any, path: str, data: QueryDict) -> Patch:
    """Remove a node, also from the inputs, the joins and the branches of other nodes."""
    at, node = find_node(document, data.get("node", ""))
    patch = [require_node(at, node)]
    by_place = dict(nodes_of(document))
    for other, index in _readers(document, node["id"]):
        patch.append({"op": "remove", "path": str(other / "inputs" / index)})
        patch += drop_references(by_place[other], other, node["id"]) if index else []
    return [*patch, *drop_branches(document, node["id"]), {"op": "remove", "path": str(at)}]


def _rename_node(document: Any, path: str, data: QueryDict) -> Patch:
    """Rename a node and update all references to it."""
    at, node = find_node(document, data.get("node", ""))
    new = data.get("value", "").strip()
    if new == node["id"]:
        return []
    if any(other.get("id") == new for _, other in nodes_of(document)):
        raise FlowError("id.repeated", f"There is already a node {new!r}.", hint="Choose another id.")
    patch = [require_node(at, node), {"op": "replace", "path": str(at / "id"), "value": new}]
    slug = node["id"]
    read = (at / "inputs" / i for at, i in _readers(document, slug))
    named = [*read, *_joins_with(document, slug), *branches_to(document, slug)]
    return patch + [{"op": "replace", "path": str(place), "value": new} for place in named]


def _set_input(document: Any, path: str, data: QueryDict) -> Patch:
    """Set or clear the node from which a node reads its rows, or the nodes whose rows it unites. Further inputs, which
    its joins name, stay."""
    at, node = find_node(document, data.get("node", ""))
    inputs, chosen = node.get("inputs"), [slug for slug in data.getlist("value") if slug]
    if unites(node) and isinstance(inputs, list):
        chosen = [name for name in inputs if name in chosen] + [name for name in chosen if name not in inputs]
    elif chosen and node.get("kind") == "transform" and isinstance(inputs, list):
        chosen += [name for name in inputs[1:] if name not in chosen]
    if node.get("inputs") == chosen:
        return []
    op = "replace" if "inputs" in node else "add"
    patch = [require_node(at, node), {"op": op, "path": str(at / "inputs"), "value": chosen}]
    before, now = (next(iter(names), "") if isinstance(names, list) else "" for names in (inputs, chosen))
    if before == now:
        return patch
    return [*patch, *drop_branches(document, node["id"], before), *add_branch(document, now, node["id"])]


def _set_schedule(document: Any, path: str, data: QueryDict) -> Patch:
    """Set the schedule to the values of its form."""
    schedule = read_schedule(data)
    before = document.get("schedule", MISSING) if isinstance(document, dict) else MISSING
    if schedule is None:
        return [] if before is MISSING else [{"op": "remove", "path": "/schedule"}]
    return [] if before == schedule else put(document, ["schedule"], schedule)


def require_node(at: Pointer, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `test` operation that makes the patch fail if another node has moved to this position."""
    return {"op": "test", "path": str(at / "id"), "value": node["id"]}


def _joins_with(document: Any, slug: str) -> list[Pointer]:
    """Return the positions of joins that name a node."""
    return [
        at / "ops" / i / "with"
        for at, node in nodes_of(document)
        if isinstance(ops := node.get("ops"), list)
        for i, op in enumerate(ops)
        if isinstance(op, dict) and op.get("with") == slug
    ]


def _readers(document: Any, slug: str) -> list[tuple[Pointer, int]]:
    """Return the readers of a node, each with its position and the index of the input, in reverse order."""
    found = [
        (at, i)
        for at, node in nodes_of(document)
        if isinstance(inputs := node.get("inputs"), list)
        for i, name in enumerate(inputs)
        if name == slug
    ]
    return found[::-1]


ACTIONS: dict[str, Callable[[Any, str, QueryDict], Patch]] = {
    "set": _set,
    "remove": _remove,
    "choose": _choose,
    "append": _append,
    "up": _move(-1),
    "down": _move(1),
    "add_node": _add_node,
    "delete_node": _delete_node,
    "rename_node": _rename_node,
    "set_input": _set_input,
    "set_schedule": _set_schedule,
}
