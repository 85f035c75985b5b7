"""Runs a source and writes what it recorded: `python __main__.py SOURCE RESULT`. Only `flow compile` calls this."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import sys
import traceback
from pathlib import Path
from typing import Any

from flow_transforms.recording import Source, TransformError, record_all


def main(source: str, result: str) -> None:
    sys.dont_write_bytecode = True
    Source.file = source
    Path(result).write_text(json.dumps(_run(source)), encoding="utf-8")


def _run(source: str) -> dict[str, Any]:
    try:
        loader = importlib.machinery.SourceFileLoader("transforms", source)
        loader.exec_module(importlib.util.module_from_spec(importlib.machinery.ModuleSpec("transforms", loader)))
        return {"recorded": record_all()}
    except TransformError as error:
        return _failed(str(error), error.hint, error.line)
    except SyntaxError as error:
        return _failed(f"The source is not valid Python: {error.msg}.", "", error.lineno or 1)
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source]
        message = f"The source ends with {type(error).__name__}: {error}."
        return _failed(message, "", lines[-1] if lines and lines[-1] else 1)


def _failed(message: str, hint: str, line: int) -> dict[str, Any]:
    return {"error": {"message": message, "hint": hint, "line": line}}


if __name__ == "__main__":
    main(*sys.argv[1:])
