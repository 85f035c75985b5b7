"""Computes the JSON Patch (RFC 6902) between two documents. List items with an `id` are matched by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.diagnostics import Patch
from ir.pointers import ROOT, Pointer


def make_patch(old: Any, new: Any) -> Patch:
    """Return operations that turn `old` into `new` when they are applied in order."""
    return _diff(old, new, ROOT)


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal and are written alike. Unlike in Python, `true` is not 1, and 1 is not
    1.0."""
    return _compare(one, other, lambda a, b: type(a) is type(b) and bool(a == b))


def have_equal_values(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal as RFC 6902 compares them: 1 is 1.0, which browsers write as 1, and
    `true` is not 1."""
    return _compare(one, other, lambda a, b: isinstance(a, bool) is isinstance(b, bool) and bool(a == b))


def _compare(one: Any, other: Any, same: Callable[[Any, Any], bool]) -> bool:
    """Compare values; `same` compares those that are neither objects nor lists."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_compare(one[key], other[key], same) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_compare(a, b, same) for a, b in zip(one, other, strict=True))
    return same(one, other)


def _diff(old: Any, new: Any, at: Pointer) -> Patch:
    if are_equal(old, new):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(old, new, at)
    if isinstance(old, list) and isinstance(new, list):
        return _diff_lists(old, new, at)
    return [{"op": "replace", "path": str(at), "value": new}]


def _diff_objects(old: dict[str, Any], new: dict[str, Any], at: Pointer) -> Patch:
    patch = [{"op": "remove", "path": str(at / key)} for key in old if key not in new]
    for key, value in new.items():
        if key in old:
            patch += _diff(old[key], value, at / key)
        else:
            patch.append({"op": "add", "path": str(at / key), "value": value})
    return patch


def _diff_lists(old: list[Any], new: list[Any], at: Pointer) -> Patch:
    """Match items by `id` or by value, in their order; remove and add the others."""
    kept = _common(old, new)
    kept_old = {i for i, _ in kept}
    patch = [{"op": "remove", "path": str(at / i)} for i in reversed(range(len(old))) if i not in kept_old]
    by_new = {j: old[i] for i, j in kept}
    for j, value in enumerate(new):
        if j in by_new:
            patch += _diff(by_new[j], value, at / j)
        else:
            patch.append({"op": "add", "path": str(at / j), "value": value})
    return patch


def _common(old: list[Any], new: list[Any]) -> list[tuple[int, int]]:
    """Return pairs of indices of items that are the same, both ascending."""
    pairs: list[tuple[int, int]] = []
    j = 0
    for i, item in enumerate(old):
        found = next((k for k in range(j, len(new)) if _is_same(item, new[k])), None)
        if found is not None:
            pairs.append((i, found))
            j = found + 1
    return pairs


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict) and "id" in one and "id" in other:
        return bool(one["id"] == other["id"])
    return are_equal(one, other)
