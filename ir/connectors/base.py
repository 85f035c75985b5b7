"""The declaration of a source connector: its settings, and what other layers need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ir.backfill import BackfillHint
from ir.base import Spec
from ir.pointers import Pointer
from ir.types import ColumnType

Feature = Literal[
    "checks",
    "hooks",
    "previews",
    "holds",
    "quarantine",
    "rejected_rows",
    "samples",
    "undo",
    "unions",
    "backfills",
]
"""What destinations may support besides load modes: the names of the engine's `Capabilities`."""


class SourceConfig(Spec):
    """The settings of a source. The settings of each connector derive from this class or from `FilesConfig`."""

    @property
    def location(self) -> str:
        """The location of the rows, in one line for lists of pipelines."""
        raise NotImplementedError

    @property
    def ends_on_bad_row(self) -> bool:
        """Whether a record that cannot be read ends the run."""
        return False

    @property
    def repeats_rows(self) -> bool:
        """Whether a load may get rows again that an earlier one has loaded."""
        return False

    def backfill_hint(self, declared: BackfillHint | None) -> BackfillHint | None:
        """Return how the history of a source with these settings can be divided; `declared` is what the connector
        says."""
        return declared

    def queries(self, at: Pointer) -> Iterator[tuple[Pointer, str]]:
        """Yield the SQL queries that the source sends over its connection, each with its position; `at` is the position
        of the settings."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Connector:
    """A kind of system that rows are read from.

    `title` names it for users, and `sentence` says what it is for in one short line. `config` is the type of its
    settings, None if the connector cannot run. `reads` says whether it provides files, each of which is a load unit, or
    the rows of a database snapshot. `keeps_order` means that its rows have an order, so that the last one is defined;
    `keeps_empty` that empty texts in it are intended. `connection_kind` is the kind of stored connection that it takes,
    if any; it also works without one if `connection_for` says what one is for. `lists_streams` says whether it can list
    the streams that it may read. `follows_changes` means that it provides the changes of a table for a target with the
    load mode `cdc_mirror`, and `has_slot` that the server retains these changes in a slot until they are read; other
    servers remove them after a time. `starts_with` are the settings of a new node. `table_settings` returns the
    settings of a source for one table, from the common settings of a manifest's tables and the table's name; it raises
    ValueError for an invalid name. It is None if the connector reads no tables by name. `caution` is what users must
    know before they trust the connector. `backfill` says how the history of its sources can be divided,
    None if it cannot.
    """

    name: str
    title: str
    sentence: str
    config: type[SourceConfig] | None = None
    reads: Literal["files", "snapshot"] = "files"
    connection_kind: str | None = None
    connection_for: str = ""
    lists_streams: bool = False
    follows_changes: bool = False
    has_slot: bool = False
    keeps_order: bool = True
    keeps_empty: bool = False
    starts_with: Mapping[str, Any] = field(default_factory=dict)
    table_settings: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    caution: str = ""
    reading_step: str = ""
    backfill: BackfillHint | None = None

    @property
    def first_step(self) -> str:
        """What a run does first with such a source, for its page: `reading_step`, or what is usual for what it
        reads."""
        if self.follows_changes:
            return "Read the changes"
        return self.reading_step or ("Find files" if self.reads == "files" else "Query the database")

    @property
    def needs_connection(self) -> bool:
        return self.connection_kind is not None and not self.connection_for


@dataclass(frozen=True, slots=True)
class TargetConnector:
    """A kind of system that rows are loaded into, through a stored connection of one of `connection_kinds`.

    `title` names one of its tables for users, `tables` several of them. `load_modes` are the load modes that it
    supports, and `lacks` the features that it does not support, each with the nearest alternative in one sentence.
    `no_checks` are kinds of dataset checks that it does not support, in the same form. A test compares them with the
    capabilities of the engine's handler. `no_types` are the kinds of types that no column of a new table can have, and
    `max_precision` is the highest precision of its decimals. `runs_sql` means that loads run the statements that the
    load modes describe, which may block readers. `names` is the pattern of the names of schemas and tables, "" for
    those of databases. `quarantine_elsewhere` means that the target is in no database that could store its rejected
    rows, so that a quarantine names the connection of one.
    """

    name: str
    title: str
    tables: str
    sentence: str
    connection_kinds: tuple[str, ...]
    load_modes: frozenset[str]
    lacks: Mapping[Feature, str] = field(default_factory=dict)
    no_checks: Mapping[str, str] = field(default_factory=dict)
    no_types: frozenset[str] = frozenset()
    max_precision: int = 1000
    runs_sql: bool = True
    names: str = ""
    quarantine_elsewhere: bool = False

    def has_type(self, kind: ColumnType) -> bool:
        """Return whether a column of a new table can have this type."""
        return kind.kind not in self.no_types and kind.precision <= self.max_precision
