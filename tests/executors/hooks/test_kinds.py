"""The hook types of the document are those that run and those that are documented."""

from __future__ import annotations

import re
from pathlib import Path

from executors.hooks import HANDLERS
from ir.hooks import HOOKS

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "hooks.md"


def test_every_kind_has_a_handler():
    assert list(HANDLERS) == list(HOOKS)


def test_every_kind_is_explained():
    assert re.findall(r"^## `(\w+)`$", DOCS.read_text(), re.MULTILINE) == list(HOOKS)
