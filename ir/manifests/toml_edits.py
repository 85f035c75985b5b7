"""Applies JSON Patch (RFC 6902) to TOML text with tomlkit, which does not change the text around an edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Table

from ir.json_diff import have_equal_values
from ir.json_edits import Patch, PatchRefused, resolve_pointer, value_at
from ir.pointers import Pointer


def patch_toml(text: str, patch: Patch) -> str:
    """Return the text after all operations. Raises PatchRefused."""
    document = tomlkit.parse(text)
    for step in patch:
        if step["op"] not in OPERATIONS:
            raise PatchRefused(f"{step['op']!r} is not a JSON Patch operation.")
        try:
            OPERATIONS[step["op"]](document, step)
        except (TOMLKitError, KeyError, IndexError, TypeError, ValueError) as error:
            raise PatchRefused(
                f"The change at {step['path'] or 'the top'} does not fit the TOML text: {error}."
            ) from None
    return tomlkit.dumps(document)


def _add(document: Any, step: Mapping[str, Any]) -> None:
    _put(document, resolve_pointer(document, step["path"]), step["value"])


def _put(document: Any, at: Pointer, value: Any) -> None:
    holder, last = value_at(document, at.parent), at[-1]
    if not isinstance(holder, list):
        _set(holder, str(last), value)
    elif isinstance(holder, AoT) and isinstance(value, dict):
        holder.insert(int(last), _table(value))
    elif isinstance(holder, AoT) or (not holder and isinstance(value, dict) and isinstance(holder, Array)):
        _replace_list(document, at, value)
    else:
        holder.insert(int(last), _inline(value))


def _replace_list(document: Any, at: Pointer, value: Any) -> None:
    """Rewrite a list with one more item if its form cannot contain that item: an array of tables contains only tables,
    and an empty array becomes an array of tables."""
    items = _plain(value_at(document, at.parent))
    items.insert(int(at[-1]), value)
    _set(value_at(document, at.parent.parent), str(at.parent[-1]), items)


def _set(holder: Any, key: str, value: Any) -> None:
    is_inline = isinstance(holder, InlineTable | Array)
    holder[key] = _inline(value) if is_inline else tomlkit.item(value)


def _remove(document: Any, step: Mapping[str, Any]) -> None:
    at = resolve_pointer(document, step["path"])
    value_at(document, at)
    _take(document, at)


def _take(document: Any, at: Pointer) -> None:
    holder, last = value_at(document, at.parent), at[-1]
    if isinstance(holder, AoT) and len(holder) == 1:
        _set(value_at(document, at.parent.parent), str(at.parent[-1]), [])
    else:
        del holder[last]


def _replace(document: Any, step: Mapping[str, Any]) -> None:
    at = resolve_pointer(document, step["path"])
    value_at(document, at)
    holder, last = value_at(document, at.parent), at[-1]
    if isinstance(holder, AoT) and not isinstance(step["value"], dict):
        _take(document, at)
        _put(document, at, step["value"])
    elif isinstance(holder, AoT):
        holder[int(last)] = _table(step["value"])
    elif isinstance(holder, list):
        holder[int(last)] = _inline(step["value"])
    else:
        _set(holder, str(last), step["value"])


def _move(document: Any, step: Mapping[str, Any]) -> None:
    source = resolve_pointer(document, step["from"])
    value = _plain(value_at(document, source))
    _take(document, source)
    _add(document, {**step, "value": value})


def _copy(document: Any, step: Mapping[str, Any]) -> None:
    value = _plain(value_at(document, resolve_pointer(document, step["from"])))
    _add(document, {**step, "value": value})


def _test(document: Any, step: Mapping[str, Any]) -> None:
    if not have_equal_values(_plain(value_at(document, resolve_pointer(document, step["path"]))), step["value"]):
        raise PatchRefused(f"{step['path'] or 'The document'} changed in the meantime.")


OPERATIONS: Mapping[str, Callable[[Any, Mapping[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _table(value: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, item in value.items():
        table.append(key, tomlkit.item(item))
    return table


def _inline(value: Any) -> Any:
    """Return a value in its inline form."""
    if isinstance(value, dict):
        inline = tomlkit.inline_table()
        for key, item in value.items():
            inline.append(key, _inline(item))
        return inline
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(_inline(item))
        return array
    return tomlkit.item(value)
