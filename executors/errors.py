"""The failures of a run: `Transient` may be retried, `Terminal` must not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.error_codes import ERROR_CODES as ERROR_CODES
from executors.error_codes import WARNING_CODES as WARNING_CODES
from executors.error_codes import unreached_codes as unreached_codes
from ir.errors import FlowError

if TYPE_CHECKING:
    from executors.model import PassResult, RunReport


class Failure(FlowError):
    """A run cannot go on. `report` is what the run had done until then, once the engine has let go of it.

    `encrypted_detail` is the database's own text, encrypted, where that may hold row values: for roles that see values.
    """

    report: RunReport | None = None
    encrypted_detail: str = ""


class Transient(Failure):
    """Trying again may help: a lost connection, a lock not had in time, a source that changed while it was read."""


class Terminal(Failure):
    """Trying again cannot help: wrong data, a missing column, a refused target."""


class InvalidContent(Terminal):
    """The content of what was read is refused, and would be refused again: a malformed file, a violated rule or
    constraint. After any other failure a file stays where it was, for it may well be loaded later."""


class ExpressionFailed(InvalidContent):
    """An expression fails for the values of some row. `column` is the column that it makes, if known; `why` is Spark's
    error condition. `staged` is the result of the pass that staged the first such row as rejected, once it is found."""

    column: str | None = None
    why: str = ""
    staged: PassResult | None = None


class Cancelled(Failure):
    """A person or the run's time limit ended the run."""


class LeaseLost(Failure):
    """Another worker holds this run now; this one must leave without a trace."""


class TargetBusy(Transient):
    """Another load holds the target; the run goes back to the queue."""


class WaitForFiles(Failure):
    """No file has come yet and the source's wait policy says to look again in `minutes`."""

    def __init__(self, code: str, message: str, *, minutes: float, node: str) -> None:
        super().__init__(code, message, node=node)
        self.minutes = minutes
