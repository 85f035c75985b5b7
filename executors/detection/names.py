"""Names for the columns of a table, made of those in a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ir.names import MAX_BYTES, RESERVED_PREFIX, SYSTEM_COLUMNS


def target_names(names: Sequence[str]) -> list[str]:
    """Return column names in lower case with underscores, distinct and short enough for PostgreSQL."""
    taken: set[str] = set()
    made = []
    for position, name in enumerate(names, 1):
        base = _snake(name) or f"column_{position}"
        free, number = base, 1
        while free in taken:
            number += 1
            free = f"{_cut(base, MAX_BYTES - len(f'_{number}'))}_{number}"
        taken.add(free)
        made.append(free)
    return made


def _snake(name: str) -> str:
    written = _without_umlauts(unicodedata.normalize("NFC", name))
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", written) if not unicodedata.combining(sign))
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    snake = re.sub(r"[\W_]+", "_", parted.lower()).strip("_")
    if snake[:1].isdigit() or snake in SYSTEM_COLUMNS or f"_{snake}".startswith(RESERVED_PREFIX):
        snake = f"c_{snake}"
    return _cut(snake, MAX_BYTES)


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ẞ": "Ss"})


def _without_umlauts(name: str) -> str:
    """As German writes these letters where it has none of them."""
    written = name.translate(_UMLAUTS)
    return written.upper() if name.isupper() else written


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore").rstrip("_")
