"""Describes the conditions of a rule or check in words instead of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_OMITTED = ("type", "field", "columns", "onFail", "id")


def asks(spec: Mapping[str, Any]) -> str:
    """The condition of a rule, such as `min 0, max 9` or `values green, red`; "" if kind and field describe it
    completely."""
    return ", ".join(f"{_split(name)} {_shown(value)}" for name, value in spec.items() if name not in _OMITTED)


def _split(name: str) -> str:
    """The words of a field's name: `maxViolations` becomes `max violations`."""
    return re.sub("[A-Z]", lambda letter: f" {letter[0].lower()}", name)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " · ".join(map(_shown, value))
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
