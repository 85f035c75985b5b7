"""The process of a `custom_function` hook: it finds one function by entry point and calls it once with the arguments
from stdin."""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib.metadata import entry_points
from typing import Any


def main() -> None:
    # Output of the function must not mix with the answer, so stdout is redirected to stderr.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer:
        json.dump(_call(json.load(sys.stdin)), answer, default=str)


def _call(given: dict[str, Any]) -> dict[str, str]:
    found = [point for point in entry_points(group=given["group"]) if point.name == given["function"]]
    if not found:
        hint = "Install the package that registers it on the workers, too."
        return {"code": "hook.function_unknown", "error": "no installed package registers it.", "hint": hint}
    try:
        message = found[0].load()(given["load"], given["args"])
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything, and each is this hook's failure
        traceback.print_exc()
        return {
            "code": "hook.function_failed",
            "error": f"{type(error).__name__}: {error}",
            "hint": "Correct the package.",
        }
    return {"message": "" if message is None else str(message)}


if __name__ == "__main__":
    main()
