"""How drivers of databases map the codes of their errors to failures."""

from __future__ import annotations

from dataclasses import dataclass

from executors.errors import Failure


@dataclass(frozen=True, slots=True)
class MappedFailure:
    """The failure for an error code of a database. `shows_text` means that the database's own text contains only
    names."""

    kind: type[Failure]
    code: str
    message: str
    hint: str
    shows_text: bool = False
