"""How far a target has followed a table: the state that each load commits with its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from executors.errors import Terminal

_VERSION = 1


@dataclass(frozen=True, slots=True)
class LogState:
    """All transactions whose commit record is before `lsn` are loaded, and none after it. `system` and `timeline` name
    the history that the position belongs to, `table` is the oid of the followed table. `committed_at` is the time of
    the newest loaded transaction, or of the moment at which there was no other, in seconds since 1970. `more` says
    whether the log contained further changes. `columns` are the numbers of all columns that the target has been given,
    by their names."""

    lsn: int
    system: str
    timeline: int
    slot: str
    publication: str
    table: int
    committed_at: float
    more: bool = False
    columns: Mapping[str, int] = field(default_factory=dict)

    def to_text(self) -> str:
        return json.dumps({"version": _VERSION, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> LogState:
        """Return the stored state. Raises Terminal `stored.version_unknown`."""
        values = json.loads(text)
        if values.pop("version", None) != _VERSION:
            raise Terminal(
                "stored.version_unknown",
                "The state of the last load was written by a newer release.",
                hint="Install that release again.",
            )
        return cls(**values)
