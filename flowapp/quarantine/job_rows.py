"""The rejected rows that a run processes, as its job stores them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ir.stored_json import StoredJson


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one quarantine table: the id of an entry for each. `revisions`, if given, are those of the entries when
    the run was requested."""

    schema: str
    table: str
    entries: tuple[int, ...]
    revisions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FileHash:
    """The SHA-256 of the file that a run read under this name."""

    run_id: str
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class JobRows:
    """The rows of a run. `overwrite` names rows that may replace target rows with the same key; `computed_by` names
    earlier runs that computed the column of a fix."""

    tables: tuple[TableRows, ...] = ()
    overwrite: tuple[str, ...] = ()
    hashes: tuple[FileHash, ...] = ()
    computed_by: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the rows as JSON with their format version."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> JobRows:
        """Read stored rows. Raises FlowError `stored.version_unknown`."""
        return _FORMAT.load(stored)


_FORMAT = StoredJson("list of rejected rows of a run", JobRows, 1)
