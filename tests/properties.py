"""How many examples a property tries: all in `make faults`, a fifth of them in `make test`."""

from __future__ import annotations

import os

IS_THOROUGH = bool(os.environ.get("FLOW_TEST_THOROUGH"))


def examples(number: int) -> int:
    return number if IS_THOROUGH else max(1, number // 5)
