"""Describes the differences between two documents in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from ir.diagnostics import shown
from ir.json_diff import make_patch
from ir.pointers import Pointer, value_at

_CATCH_UP = {"latest": "", "skip": ", missed times are skipped", "all": ", a run for each missed time"}
_UNSAID = {"$schema", "kind", "version", "id", "nodes", "schedule"}


def without_schema(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without the address of its schema, which says nothing about the pipeline."""
    return {key: value for key, value in document.items() if key != "$schema"}


def schedule_text(schedule: Mapping[str, Any] | None) -> str | None:
    """Return a schedule in one line; None if there is none."""
    if schedule is None:
        return None
    if "interval" in schedule:
        text = f"every {schedule['interval']}"
    else:
        zone = schedule.get("timezone")
        text = f"{schedule.get('expression')} ({zone})" if zone else str(schedule.get("expression"))
    if "jitter" in schedule:
        text += f", jitter {schedule['jitter']}"
    return text + _CATCH_UP[schedule.get("catchUp", "latest")]


def describe_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each difference between two documents of a pipeline."""
    return [*_schedule(old, new), *_nodes(old, new), *_others(old, new)]


def _schedule(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = schedule_text(old.get("schedule")), schedule_text(new.get("schedule"))
    if before == after:
        return
    if before is None:
        yield f"The schedule is set to {after}."
    elif after is None:
        yield f"The schedule {before} is removed."
    else:
        yield f"The schedule changes from {before} to {after}."


def _nodes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = _by_id(old), _by_id(new)
    for node_id, node in before.items():
        if node_id not in after:
            yield f"The {node.get('kind', 'node')} {node_id} is removed."
    for node_id, node in after.items():
        if node_id not in before:
            yield f"The {node.get('kind', 'node')} {node_id} is added."
        else:
            yield from _fields(f"{node_id}: ", before[node_id], node)
    if [i for i in before if i in after] != [i for i in after if i in before]:
        yield "The nodes are in another order."


def _by_id(document: Mapping[str, Any]) -> dict[str, Any]:
    return {str(node["id"]): node for node in document.get("nodes", ()) if isinstance(node, dict) and "id" in node}


def _others(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    strip = [{key: value for key, value in one.items() if key not in _UNSAID} for one in (old, new)]
    yield from _fields("", *strip)


def _fields(where: str, old: Any, new: Any) -> Iterator[str]:
    has_moved, now = False, deepcopy(old)
    for step in make_patch(old, new):
        at = _resolved(step["path"])
        name = where + (".".join(map(str, at)) or "the whole")
        # The position of a step is that in the document after the steps before it.
        column = _column(at, step["value"] if step["op"] == "add" else value_at(now, at))
        match step["op"]:
            case "add" if column:
                yield f"{where}column {column['name']} is added: {column.get('type', 'its type as read')}."
            case "remove" if column:
                yield f"{where}column {column['name']} is removed."
            case "add":
                yield f"{name} is added: {shown(step['value'])}."
            case "remove":
                yield f"{name} is removed."
            case _ if has_moved and any(isinstance(part, int) for part in at):
                yield f"{name} is now {shown(step['value'])}."
            case _:
                yield f"{name} changes from {shown(value_at(old, at))} to {shown(step['value'])}."
        if step["op"] != "replace" and isinstance(at[-1], int):
            has_moved = True
            _move(value_at(now, Pointer(at[:-1])), at[-1], step)


def _move(items: list[Any], index: int, step: Mapping[str, Any]) -> None:
    """Add an item to a list, or remove one."""
    items[index : index + (step["op"] == "remove")] = [step["value"]] if step["op"] == "add" else []


def _column(at: Pointer, value: Any) -> Mapping[str, Any] | None:
    """Return the declared column that a step adds or removes, None if it is about something else."""
    is_item = len(at) > 1 and at[-2] == "columns" and isinstance(at[-1], int)
    return value if is_item and isinstance(value, dict) and "name" in value else None


def _resolved(path: str) -> Pointer:
    parts = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    return Pointer(int(part) if part.isdecimal() else part for part in parts)
