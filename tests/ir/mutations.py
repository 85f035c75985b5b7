"""Damages the values or the text of documents, at random but with a seed."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.0,
    2**53,
    1e400,
    float("nan"),
    "",
    " ",
    "x",
    "\n",
    "\x00",
    "\ud800",
    "ä" * 70,
    "a.b",
    "{YYYY}",
    "[",
    "(",
    "..",
    "/",
    "source",
    "target",
    [],
    {},
    [[]],
    [None],
    {"": {}},
    {"type": "csv"},
    {"kind": "x"},
    "select",
    "1 +",
    "*/0 * * * *",
    "9" * 400,
    ["a", "a"],
    "decimal(0,0)",
    "~1",
    10**400,
)
_KEYS = ("", "id", "kind", "op", "type", "columns", "inputs", "config", "load_mode", "$schema", "~/", "ü", "[key]")
_SIGNS = '{}[]",:\\\n\t 0123456789.eE+-nulltruefalse\x00\ufeff\u2028'


def mutate(text: str, chance: random.Random) -> Any:
    """Return the document with one to three of its values replaced, removed, duplicated, moved or renamed."""
    damaged: Any = json.loads(text)
    for _ in range(chance.randint(1, 3)):
        damaged = _mutate_once(damaged, chance)
    return damaged


def _mutate_once(document: Any, chance: random.Random) -> Any:
    if not document:
        return chance.choice(_VALUES)
    holder, key = _pick(document, chance)
    other, other_key = _pick(document, chance)
    match chance.randrange(5):
        case 0:
            holder[key] = copy.deepcopy(chance.choice(_VALUES))
        case 1:
            del holder[key]
        case 2:
            holder[key] = copy.deepcopy(other[other_key])
        case 3 if isinstance(holder, dict):
            holder[chance.choice(_KEYS)] = holder.pop(key)
        case _:
            holder.append(copy.deepcopy(holder[key])) if isinstance(holder, list) else holder.update({"x": holder[key]})
    return document


def _pick(value: Any, chance: random.Random) -> tuple[Any, Any]:
    """Return a random position in a value, as the object or list that contains it and its key or index."""
    while True:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.2:
            return value, key
        value = inner


def mutate_text(text: str, chance: random.Random) -> str:
    """The text with a few characters changed, lost or added."""
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice([*_SIGNS, ""]) + text[at + chance.randint(0, 3) :]
    return text
