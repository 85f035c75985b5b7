"""Template filters of forms that are generated from a schema."""

from __future__ import annotations

import json
from typing import Any

from django import template

from flowapp.web.document_form import field_labels
from ir.diagnostics import Patch

register = template.Library()


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value)


def _shortened(words: str) -> str:
    return words if len(words) <= 60 else words[:59] + "…"


def _name_of(step: dict[str, Any]) -> str:
    """Return the value that is added to a list, or its name."""
    value = step["value"]
    return str(value["name"] if isinstance(value, dict) and "name" in value else value)


@register.filter
def fix_label(fix: Patch) -> str:
    """Describe a fix in a few words: `Use blue_green`, `Set Key columns to id, day`, `Remove orderBy`."""
    if all(step["op"] == "add" and step["path"].endswith("/-") for step in fix):
        return _shortened(f"Add {', '.join(map(_name_of, fix))}")
    if len(fix) != 1:
        return "Fix this"
    (step,) = fix
    name = field_labels().of(str(step.get("path", "")).rpartition("/")[2])
    if step["op"] == "remove":
        return f"Remove {name}"
    if step["op"] == "move":
        return f"Rename to {name}"
    value = step.get("value")
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    shown = _shortened(words)
    return f"Use {shown}" if name.isdecimal() or step["op"] == "replace" else f"Set {name} to {shown}"
