"""The interface of a database with an Arrow driver: its sessions, its columns, and the facts of its SQL."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import pyarrow as pa

from executors.driver_failures import MappedFailure
from executors.errors import Terminal
from executors.model import SourceField, StoreConnection


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column as the database describes it. `type` is the name of its type in lower case, without length."""

    name: str
    type: str
    digits: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source. `expression` selects its value, where `{}` is the column of the row `q`. With
    `is_compared`, the database compares its values as the target does."""

    field: SourceField
    expression: str = "{}"
    is_compared: bool = True


class DriverError(NamedTuple):
    """An error of a driver: the code by which `Dialect.failures` knows it, and its text."""

    code: str
    text: str


@contextmanager
def closed_on_error(conn: Any) -> Iterator[None]:
    """Close a connection if its session cannot be set up."""
    try:
        yield
    except BaseException:
        with suppress(Exception):  # It may be broken.
            conn.close()
        raise


class Session(ABC):
    """An open session, used by one thread, except for `cancel`. Its methods raise the errors of the driver."""

    @abstractmethod
    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a statement. At least one batch is yielded, which may be empty."""

    @abstractmethod
    def describe(self, statement: str) -> Sequence[ResultColumn]:
        """Return the columns of a statement, whose rows are not read."""

    @abstractmethod
    def cancel(self) -> None:
        """End the running statement, from another thread. Reading it raises."""

    @abstractmethod
    def close(self) -> None:
        """Close the session, also when it is broken."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The facts of a database.

    `driver` is the module of the driver, and `extra` the extra of Flow's own package that installs it. `connect` opens
    a session whose statements each take at most the given seconds, as far as the database limits them itself. `types`
    contains how each type is read; other types are refused. `quote` is how a name is written. `limited` selects the
    first `{n}` rows of `{rows}`, in the order `{order}`, which is empty or `random_order`. `date` and `timestamp` are
    literals of a watermark. `moment`, if given, is a statement whose one value fixes a moment, and `at_moment` reads
    the table `{rows}` at that moment, so that several targets can read the same rows. `warning`, if given, is a
    statement that returns a row if one statement may not read one moment.
    """

    title: str
    driver: str
    extra: str
    connect: Callable[[Any, StoreConnection, int], Session]
    driver_error: Callable[[BaseException], DriverError | None]
    types: Mapping[str, Callable[[ResultColumn], Column]]
    quote: Callable[[str], str]
    random_order: str
    failures: Mapping[str, MappedFailure] = field(default_factory=dict)
    limited: str = "(SELECT * FROM {rows} q {order} LIMIT {n})"
    date: str = "DATE '{}'"
    timestamp: str = "TIMESTAMP '{}'"
    version: str = "SELECT '' AS version"
    is_encrypted: Callable[[StoreConnection], bool] = lambda connection: True
    moment: str = ""
    at_moment: str = ""
    warning: str = ""

    def load_driver(self) -> Any:
        """Return the module of the driver. Raises Terminal `source.driver_missing`."""
        try:
            return import_module(self.driver)
        except ImportError:
            raise self.driver_missing() from None

    def driver_missing(self) -> Terminal:
        return Terminal(
            "source.driver_missing",
            f"The driver of {self.title} is not installed ({self.driver.partition('.')[0]}).",
            hint="Install it for the web server, the workers and the machines of Spark: pip install "
            f"'flow-pipelines[{self.extra}]'",
        )


_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_WHOLE_VALUE = re.compile(r"-?[0-9]{1,18}")
_DATE_VALUE = re.compile(_DAY)
_TIMESTAMP_VALUE = re.compile(_DAY + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")


def watermark_literal(dialect: Dialect, column: Column, declared: str, value: str) -> str | None:
    """Return a watermark of the declared type of PostgreSQL as a literal; None if the database does not compare the
    values of the column as the target does."""
    kind = column.field.type
    if not column.is_compared:
        return None
    is_whole = kind.kind in ("integer", "bigint") or (kind.kind == "decimal" and kind.scale == 0)
    if is_whole and declared in ("integer", "bigint") and _WHOLE_VALUE.fullmatch(value):
        return value
    if kind.kind == "date" and declared == "date" and _DATE_VALUE.fullmatch(value):
        return dialect.date.format(value)
    if kind.kind == "timestamp" and declared == "timestamp without time zone" and _TIMESTAMP_VALUE.fullmatch(value):
        return dialect.timestamp.format(value)
    return None
