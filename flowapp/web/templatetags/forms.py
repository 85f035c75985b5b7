"""Template filters of forms that are generated from a schema."""

from __future__ import annotations

import json
from typing import Any

from django import template

from ir.diagnostics import Patch

register = template.Library()


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value)


@register.filter
def fix_label(fix: Patch) -> str:
    """Describe a fix in a few words: `Use blue_green`, `Set upsertKey to id, day`, `Remove orderBy`."""
    if len(fix) != 1:
        return "Fix this"
    (step,) = fix
    name = str(step.get("path", "")).rpartition("/")[2]
    if step["op"] == "remove":
        return f"Remove {name}"
    if step["op"] == "move":
        return f"Rename to {name}"
    value = step.get("value")
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    shown = words if len(words) <= 60 else words[:59] + "…"
    return f"Use {shown}" if name.isdecimal() or step["op"] == "replace" else f"Set {name} to {shown}"
