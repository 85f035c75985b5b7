"""Names of settings that seem to be secrets, which a document must not contain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ir.pointers import Pointer

_SECRET = re.compile(
    r"(?i)^(key|sig|pwd|auth|authorization|bearer)$"
    r"|(^|[_.-])(token|secret|password|passwd|signature|credentials?)$"
    r"|(account|api|app|access|auth|client|private|secret|subscription)[_.-]?(key|token|secret)$"
)


def looks_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def secrets_in(settings: Mapping[str, Any], at: Pointer) -> Iterator[tuple[str, Pointer]]:
    """Yield the names in JSON settings that look secret and have a value that is no object or list, at every depth."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from secrets_in(value, at / name)
        elif isinstance(value, list):
            for i, one in enumerate(value):
                if isinstance(one, Mapping):
                    yield from secrets_in(one, at / name / i)
        elif looks_secret(name):
            yield name, at / name
