"""Where the load of one target begins, if it keeps a mark: nothing of it for all other targets."""

from __future__ import annotations

from collections.abc import Iterator

from executors.model import Destination, RunJob, RunWarning
from executors.ports import Ports
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan
from executors.postgres.set_aside import set_aside
from executors.postgres.ties import have_columns_changed
from executors.postgres.windows import NOTHING_ASIDE, Window, first_window, open_window
from executors.pushdown import source_column
from executors.reading import Bound, Reading
from ir.load_modes import load_mode
from ir.pipeline import Path


class TargetWindow:
    """`found` is the window, None without a mark or a table; `aside` the rows that were taken out as behind it."""

    def __init__(self, job: RunJob, ports: Ports, conn: Conn, path: Path) -> None:
        self._job, self._ports, self._conn, self._path = job, ports, conn, path
        self._target = path.target
        self.found: Window | None = None
        self.aside = NOTHING_ASIDE

    def open(self, dest: Destination | None = None) -> Window | None:
        """Before a missing table is made, which would hide that it is missing; then again, for what was made, or for
        what stands in for it."""
        if self.found is None and load_mode(self._target.load_mode).keeps_mark:
            place = (self._job.tenant, self._job.pipeline.id, self._target)
            self.found = open_window(self._conn, *place)
            if self.found is None and dest is not None:
                self.found = first_window(*place, dest)
        return self.found

    def warnings(self) -> list[RunWarning]:
        """What may make the load take too many rows, or too few."""
        if self.found is None:
            return []
        return [RunWarning(code, self._target.id, text) for code, text in _doubts(self.found)]

    def narrow(self, reading: Reading) -> Reading:
        """Spare the source the rows that would be set aside."""
        window, narrow = self.found, reading.narrow
        if narrow is None or window is None or window.bound in (None, window.type.below_all):
            return reading
        column = source_column(self._path, window.column)
        return narrow(Bound(column, window.type, str(window.bound))) if column else reading

    def set_aside(self, plan: LoadPlan, window: Window) -> None:
        """Take the staged rows that are behind the mark out of staging."""
        if have_columns_changed(plan, window):
            self._ports.events.log("warning", _COLUMNS_CHANGED, self._target.id)
        self.aside = set_aside(self._conn, plan, window)
        if self.aside.rows:
            text = f"{self.aside.below_bound:,} below the bound, {self.aside.read_again:,} at or above it that were"
            self._ports.events.log("info", f"Rows behind the mark: {text} loaded before.", self._target.id)

    def mark_now(self) -> tuple[int, int] | None:
        """What tells whether the mark is the one that rows were set aside for."""
        stored = self.found and self.found.stored
        return (stored.id, stored.revision) if stored else None


def _doubts(window: Window) -> Iterator[tuple[str, str]]:
    if window.may_miss_rows:
        yield (
            "watermark.rows_may_be_hidden",
            f"Row security is active on {window.key.table} for the connection's user: rows that it may not see are "
            "neither counted for the mark nor known as loaded.",
        )
    if window.is_ahead:
        yield (
            "watermark.ahead_of_clock",
            f"The watermark of {window.key.table} is later than the clock of its database: rows before it are left out "
            "until then. Set it back if that is wrong.",
        )


_COLUMNS_CHANGED = (
    "The columns of the rows are others than those hashed at the mark: which rows at or above it are loaded already is "
    "told from what the table holds."
)
