"""Applies a JSON Patch to the text of a manifest. Other parts do not change: format, order and comments stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ir.documents import Syntax, read_document
from ir.json_diff import are_equal
from ir.json_edits import Patch, PatchRefused, apply_patch


def edit_manifest(text: str, syntax: Syntax, patch: Patch) -> str:
    """Return the text after the patch, whose paths begin at the top of the file.

    Raises PatchRefused if the patch does not fit, InvalidPipeline or UnreadableText if the text cannot be read.
    """
    return EDITORS[syntax](text, patch)


def _edit_toml(text: str, patch: Patch) -> str:
    from ir.manifests.toml_edits import patch_toml

    due = json.loads(apply_patch(json.dumps(read_document(text, "toml").value), patch))
    edited = patch_toml(text, patch)
    if not are_equal(read_document(edited, "toml").value, due):
        raise PatchRefused("The change cannot be made in this TOML text without rewriting it.")
    return edited


EDITORS: Mapping[Syntax, Callable[[str, Any], str]] = {"json": apply_patch, "toml": _edit_toml}
