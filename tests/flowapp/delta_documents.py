"""Pipelines whose target is a Delta table in the connection `lake`, with rejected rows in a database."""

from __future__ import annotations

from typing import Any

from tests.flowapp.conftest import make_document

LAKE = {"connector": "delta", "connection": "lake", "schema": "shop"}


def rejecting_nodes(quarantine: dict[str, Any] | None, **target: Any) -> list[dict[str, Any]]:
    """Return the nodes of the small pipeline with a rule before its target, which is a Delta table."""
    source, load = make_document()["nodes"]
    rule = {"type": "notNull", "field": "id", "onFail": "skip"}
    check: dict[str, Any] = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": [rule]}
    if quarantine is not None:
        check["quarantine"] = {"enabled": True, **quarantine}
    return [source, check, {**load, "inputs": ["check"], **LAKE, **target}]
