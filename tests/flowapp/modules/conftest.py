"""Members of alice's team, and a document with a custom transform."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.executors.wasm.modules import echo, ref
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace

__all__ = ["as_", "person"]
ECHO = echo()


@pytest.fixture
def customized(document: Callable[..., dict[str, Any]]) -> Callable[..., str]:
    """A document whose transform calls the module `tested`."""

    def make(content: bytes = ECHO, **more: Any) -> str:
        made = document()
        columns = [{"name": "id", "type": "string"}]
        op = {"op": "custom", "module": ref(content), "fields": ["id"], "columns": columns, **more}
        made["nodes"].insert(1, {"id": "shape", "kind": "transform", "inputs": ["files"], "ops": [op]})
        made["nodes"][2]["inputs"] = ["shape"]
        return json.dumps(made)

    return make


@pytest.fixture
def add(workspace: Workspace) -> Callable[..., Any]:
    from flowapp.modules.services import add_module

    return lambda content=ECHO, *granted: add_module(workspace, "tested", content, granted, "alice")
