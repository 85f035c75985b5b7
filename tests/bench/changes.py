"""Changes of a followed table: the speed of a backlog, the lag of a stream, and the memory of one large transaction."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from executors.errors import Failure
from executors.runs.stream import run_stream
from tests.bench.memory import PeakMemory
from tests.bench.step_costs import StepCosts
from tests.databases import connect_to
from tests.executors.conformance.world import target_of
from tests.executors.postgres_cdc.mirror import Mirror
from tests.logical_server import logical_server

KNOWN = 100_000
TABLE = (
    "create table s (id bigint primary key, customer int, total numeric(12,2), status text, note text,"
    " at timestamptz default clock_timestamp())"
)
A_SECOND, SECONDS, WARM_SECONDS = 1_000, 60, 30
BATCHES = 10
"""The number of transactions in which the changes of a second are committed."""


@contextmanager
def mirror(folder: Path) -> Iterator[Mirror]:
    """A followed table with known rows, whose snapshot is loaded; source and target are one server."""
    with logical_server(18) as server:
        with connect_to(server.connection) as connection:
            connection.execute("create database warehouse")
        made = Mirror(
            folder,
            replace(server.connection, database="warehouse", name="warehouse"),
            "public",
            source=server.connection,
        )
        made.at_source(
            TABLE,
            f"insert into s select i, i % 1000, i / 3.0, 'open', 'note ' || i from generate_series(1, {KNOWN}) i",
        )
        made.follow()
        yield made


def load_backlog(followed: Mirror, changes: int, first: int) -> float:
    """Return the seconds of a run that loads that many changes in transactions of 1,000: 450 insertions, 450 updates
    and 100 deletions each. The new keys begin at `first`."""
    statements = []
    for number in range(changes // 1000):
        new, old = first + number * 450, 1 + number % 200 * 450
        statements.append(
            f"with a as (insert into s select i, 1, 2, 'new', 'n' || i from generate_series({new}, {new + 449}) i),"
            f" b as (delete from s where id between {new - 450} and {new - 351})"
            f" update s set status = 'paid {number}' where id between {old} and {old + 449}"
        )
    followed.at_source(*statements)
    began, costs = time.perf_counter(), StepCosts()
    followed.memory.on_step = costs.step
    report = followed.run_once()
    seconds = time.perf_counter() - began
    costs.print_all(changes)
    if followed.difference():
        raise AssertionError("the target differs from its source")
    read = target_of(report).rows_read or 0
    return seconds * changes / read


def load_transaction(followed: Mirror, changes: int, first: int) -> tuple[float, PeakMemory]:
    """Return the seconds of a run that loads one transaction of that many insertions, and its memory."""
    followed.at_source(
        f"insert into s select i, 1, 2, 'new', 'n' || i from generate_series({first}, {first + changes - 1}) i"
    )
    began = time.perf_counter()
    with PeakMemory() as memory:
        costs = StepCosts(lambda: memory.cpu)
        followed.memory.on_step = costs.step
        followed.run_once()
    costs.print_all(changes)
    return time.perf_counter() - began, memory


@dataclass
class _Control:
    """Lets a stream run until it is stopped."""

    stopped: threading.Event = field(default_factory=threading.Event)
    windows: int = 0
    failures: list[str] = field(default_factory=list)

    def begin_window(self) -> bool:
        return not self.stopped.is_set()

    def end_window(self, began: float, *, has_more: bool) -> None:
        self.windows += 1

    def fail_window(self, failure: Failure, seconds: float) -> None:
        self.failures.append(f"{failure.code}: {failure.message}")


def follow_steadily(followed: Mirror) -> tuple[list[float], int, int]:
    """Return the lags of a stream in seconds, the number of its windows, and that of the changes per second that the
    source really made. A lag is the age of the newest row of the target."""
    control, made = _Control(), list[float]()
    followed.memory.on_step = lambda step, node: None
    job = followed.job(followed.pipeline())
    ports = replace(followed.memory.ports(), stream=control)
    stream = threading.Thread(target=run_stream, args=(job, ports))
    writer = threading.Thread(target=_write, args=(followed, control, made))
    stream.start()
    writer.start()
    time.sleep(WARM_SECONDS)
    lags, end = [], time.monotonic() + SECONDS
    with followed.connect() as target:
        while time.monotonic() < end:
            row = target.execute("select extract(epoch from clock_timestamp() - max(at)) from t").fetchone()
            lags.append(float(row[0] if row else 0))
            time.sleep(0.2)
    control.stopped.set()
    stream.join()
    writer.join()
    if control.failures:
        raise AssertionError(control.failures)
    return lags, control.windows, round(sum(made) / len(made)) if made else 0


def _write(followed: Mirror, control: _Control, made: list[float]) -> None:
    """Write changes at the wanted speed, and store the speed that was reached in each second."""
    number, each = 20_000_000, A_SECOND // BATCHES
    with followed.session() as source:
        while not control.stopped.is_set():
            began = time.monotonic()
            for _ in range(BATCHES):
                source.execute(
                    f"insert into s select i, 1, 2, 'new', 'n' from generate_series({number}, {number + each - 1}) i"
                )
                number += each
                time.sleep(max(0.0, 1 / BATCHES - 0.02))
            time.sleep(max(0.0, began + 1 - time.monotonic()))
            made.append(A_SECOND / (time.monotonic() - began))


def report(folder: Path, backlog: int, large: int) -> None:
    """Print the figures, each with its aim."""
    print("cdc: a server starts, and the first rows are loaded", flush=True)
    with mirror(folder) as followed:
        print("cdc: Spark and its workers start", flush=True)
        load_backlog(followed, 10_000, 10_000_000)
        seconds = load_backlog(followed, backlog, 12_000_000)
        speed = backlog / seconds
        print(f"a backlog of {backlog:,} changes: {seconds:.1f} s, {speed:,.0f}/s   aim ≥ 20,000/s", flush=True)
        print(f"cdc: a stream follows changes for {WARM_SECONDS + SECONDS} s", flush=True)
        lags, windows, really = follow_steadily(followed)
        print(
            f"lag at {really:,} changes/s, {windows} windows: median {statistics.median(lags):.1f} s, "
            f"worst {max(lags):.1f} s   aim ≤ 5 s",
            flush=True,
        )
        few, small = load_transaction(followed, large // 10, 40_000_000)
        many, whole = load_transaction(followed, large, 60_000_000)
        print(
            f"one transaction of {large:,} changes: {many:.1f} s, {large / many:,.0f}/s; driver "
            f"{whole.peaks['driver'] >> 20} MB, of {large // 10:,}: {small.peaks['driver'] >> 20} MB in {few:.1f} s "
            f"({whole.peaks['driver'] / small.peaks['driver']:.2f} ×)   aim ≤ 1.2 ×",
            flush=True,
        )
