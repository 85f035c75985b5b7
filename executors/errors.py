"""The failures of a run: `Transient` may be retried, `Terminal` must not be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from executors.error_codes import ERROR_CODES as ERROR_CODES
from executors.error_codes import WARNING_CODES as WARNING_CODES
from executors.error_codes import unreached_codes as unreached_codes
from ir.errors import FlowError

if TYPE_CHECKING:
    from executors.model import PassResult
    from executors.report import RunReport


class Failure(FlowError):
    """A run cannot continue. `report` describes what the run had done; it is set when the attempt has ended.

    `encrypted_detail` is the encrypted text of the database where it may contain row values. Only roles that may see
    values can read it.
    """

    report: RunReport | None = None
    encrypted_detail: str = ""


class Transient(Failure):
    """A retry may succeed: a lost connection, a lock timeout, or a source that changed while it was read."""


class Terminal(Failure):
    """A retry cannot succeed: wrong data, a missing column, or a refused target."""


class InvalidContent(Terminal):
    """The content is refused and would be refused again: a malformed file, or a violated rule or constraint. The file
    counts as failed. After any other failure a file stays in its place, because a later run may load it."""


class ExpressionFailed(InvalidContent):
    """An expression fails for the values of some row. `column` is the column that it computes, if known; `why` is
    Spark's error condition. `staged` is the result of the pass that staged the first such row as rejected, if it was
    found."""

    column: str | None = None
    why: str = ""
    staged: PassResult | None = None


class Cancelled(Failure):
    """A user or the run's time limit ended the run."""


class LeaseLost(Failure):
    """Another worker owns this run now. This worker must stop without writing anything."""


class TargetBusy(Transient):
    """Another load holds the target. The run returns to the queue."""


class WaitForFiles(Failure):
    """No file has arrived yet. The source's wait policy asks for another look in `minutes`."""

    def __init__(self, code: str, message: str, *, minutes: float, node: str) -> None:
        super().__init__(code, message, node=node)
        self.minutes = minutes


@contextmanager
def of_node(node: str) -> Iterator[None]:
    """Report failures as those of a source node."""
    try:
        yield
    except Failure as failure:
        failure.node = failure.node or node
        raise
