"""Small paths: one source, ops, rules and one target."""

from __future__ import annotations

from typing import Any

from ir.nodes import Source, Target, Transform, Validate
from ir.pipeline import Path


def make_path(
    *ops: dict[str, Any],
    columns: list[dict[str, Any]] | None = None,
    file_format: dict[str, Any] | None = None,
    rules: list[dict[str, Any]] | None = None,
    **target: Any,
) -> Path:
    """Return a path whose transform node `shape` has these ops; without ops it has no transform."""
    source = {
        "id": "orders",
        "kind": "source",
        "connector": "local_fs",
        "config": {"path": ".", "pattern": {"type": "glob", "value": "*"}, "format": file_format or {"type": "csv"}},
        **({"columns": columns} if columns else {}),
    }
    transform = {"id": "shape", "kind": "transform", "inputs": ["orders"], "ops": list(ops)}
    validate = {"id": "check", "kind": "validate", "inputs": ["orders"], "rowLevel": rules}
    target = {
        "id": "load",
        "kind": "target",
        "inputs": ["orders"],
        "connector": "postgres",
        "connection": "warehouse",
        "schema": "public",
        "table": "orders",
        "loadMode": "append",
        **target,
    }
    return Path(
        Source.model_validate(source),
        (Transform.model_validate(transform),) if ops else (),
        (Validate.model_validate(validate),) if rules else (),
        Target.model_validate(target),
    )
