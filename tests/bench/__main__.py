"""`make bench`: the product against its floor and its peers, interleaved, on one machine in one run.

    python -m tests.bench [--rows N] [--runs N] [--megabytes N] [CASE …]

Prints one line per case: medians, the ratio to the floor, and the aim. Compare ratios of one run only: absolute times
depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from executors.model import Connection
from flowapp.cli.control import control_plane
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import ensure_warehouse
from tests.bench import ENCRYPTION_KEY, databases, floors, pages, peers, plain_spark, quarantine
from tests.bench.memory import PeakMemory
from tests.bench.processes import (
    flow,
    from_request_to_loaded,
    make_pipeline,
    put_file,
    running_worker,
    time_cold_run,
)
from tests.bench.product import EXPRESSIONS, RULES, SPARK_EXPRESSIONS, make_target, run_once
from tests.bench.stored_files import stored_files, write_csv, write_parquet, write_parts

HERE = Path(__file__).parent
ROWS_PER_MEGABYTE = 11_000


@dataclass
class Bench:
    services: Services
    warehouse: Connection
    dsn: str
    folder: Path
    rows: int
    runs: int
    megabytes: int

    def csv(self, rows: int) -> Path:
        """Return the benchmark file with `rows` rows. It is made once per machine."""
        path = self.folder / "files" / f"orders-{rows}.csv"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            subprocess.run([sys.executable, HERE / "orders_csv.py", str(rows), part], check=True)
            part.rename(path)
        return path

    def floor(self, case: str) -> float:
        return peers.floor(case, str(self.csv(self.rows)), self.dsn)

    def append(self, **options: Any) -> float:
        make_target(self.dsn, peers.DDL)
        return run_once(self.warehouse, self.csv(self.rows), **options)[0]

    def customers(self) -> Path:
        """A hundredth as many customers as orders."""
        path = self.folder / "files" / f"customers-{self.rows // 100}.csv"
        if not path.exists():
            plain_spark.write_customers(path, self.rows // 100)
        return path

    def join(self) -> float:
        make_target(self.dsn, plain_spark.JOINED)
        return run_once(self.warehouse, self.csv(self.rows), rules=[], customers=self.customers())[0]

    def truncate(self) -> float:
        make_target(self.dsn, peers.DDL, fill_from="bench_full")
        return run_once(self.warehouse, self.csv(self.rows), mode="truncate")[0]

    def swap(self) -> float:
        make_target(self.dsn, peers.DDL)
        floors.add_dependents(self.dsn)
        return run_once(self.warehouse, self.csv(self.rows), mode="blue_green")[0]

    def incremental(self) -> float:
        make_target(self.dsn, peers.DDL, fill_from="bench_held")
        follow: dict[str, Any] = {"mode": "incremental_watermark", "watermarkColumn": "updated_at"}
        return run_once(self.warehouse, self.csv(self.rows), rules=[], **follow)[0]

    def hold(self, rows: int, table: str = "bench_held") -> None:
        """Fill the table with the first rows of the file."""
        import psycopg

        make_target(self.dsn, peers.DDL)
        run_once(self.warehouse, self.csv(self.rows), rules=[])
        with psycopg.connect(self.dsn, autocommit=True) as c:
            c.execute(f"drop table if exists {table}")
            c.execute(f"create table {table} as select * from public.orders where order_id <= {rows}")

    def upsert(self, table: str) -> float:
        """Upsert into a table that contains every key; `table` is a copy of its rows."""
        make_target(self.dsn, peers.DDL, fill_from=table)
        seconds, _ = run_once(self.warehouse, self.csv(self.rows), mode="upsert", rules=[])
        return seconds

    def fill(self) -> None:
        """`bench_same` contains the rows of the file, except for the mails of bad rows; `bench_other` has the same keys
        with other values."""
        import psycopg

        make_target(self.dsn, peers.DDL)
        run_once(self.warehouse, self.csv(self.rows), rules=[])
        with psycopg.connect(self.dsn, autocommit=True) as c:
            c.execute("drop table if exists bench_same, bench_other")
            c.execute("create table bench_same as select * from public.orders")
            c.execute("create table bench_other as select * from public.orders")
            c.execute("update bench_other set note = 'other'")
            c.execute("vacuum full bench_other")


def interleave(times: int, *ways: Callable[[], float]) -> list[float]:
    """Return the median seconds of each way. The ways take turns."""
    taken = [[way() for way in ways] for _ in range(times)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def say(what: str, seconds: float, floor: float, aim: str, beside: str = "its floor") -> None:
    print(f"{what:<58} {seconds:7.2f} s  {floor:7.2f} s {beside:<12} {seconds / floor:5.2f} ×   aim {aim}", flush=True)


def append(bench: Bench) -> None:
    floor, product = interleave(bench.runs, lambda: bench.floor("pk"), bench.append)
    say("append: CSV, five rules, quarantine, key on target", product, floor, "≤ 1.3 ×")


def expressions(bench: Bench) -> None:
    floor, product = interleave(bench.runs, lambda: bench.floor("pk"), lambda: bench.append(ops=EXPRESSIONS))
    say("append with a cast, a derive and a filter", product, floor, "≤ 1.6 ×")


def spark_expressions(bench: Bench) -> None:
    """Expressions that only Spark computes: rows pass through the JVM."""
    floor, product = interleave(bench.runs, lambda: bench.floor("pk"), lambda: bench.append(ops=SPARK_EXPRESSIONS))
    say("the same with an expression for Spark", product, floor, "–")


def join(bench: Bench) -> None:
    """A left join with a hundredth as many rows, against the same in Spark SQL."""
    floor, product = interleave(
        bench.runs,
        lambda: plain_spark.join(bench.dsn, bench.csv(bench.rows), bench.customers()),
        bench.join,
    )
    say("append with a left join, no rules", product, floor, "≤ 1.3 ×", "plain Spark")


def rules(bench: Bench) -> None:
    without, with_rules = interleave(bench.runs, lambda: bench.append(rules=[]), lambda: bench.append(rules=RULES))
    say("five rules against none", with_rules, without, "≤ 1.1 ×", "no rules")


def upsert_changed(bench: Bench) -> None:
    bench.fill()
    floor, product = interleave(bench.runs, lambda: bench.floor("upsert"), lambda: bench.upsert("bench_other"))
    say("upsert: every row changed", product, floor, "≤ 1.15 ×")


def upsert_unchanged(bench: Bench) -> None:
    bench.fill()
    floor, product = interleave(bench.runs, lambda: bench.floor("upsert"), lambda: bench.upsert("bench_same"))
    say("upsert: no row changed", product, floor, "≤ 0.6 ×")


def truncate(bench: Bench) -> None:
    """All rows of a full table with a key, replaced."""
    bench.hold(bench.rows, "bench_full")
    floor, product = interleave(
        bench.runs, lambda: floors.replace_all(bench.dsn, bench.csv(bench.rows)), bench.truncate
    )
    say("truncate: CSV, five rules, key on target", product, floor, "≤ 1.3 ×")


def blue_green(bench: Bench) -> None:
    """All rows of a table with a key and an index, replaced while a reader has a view of it."""
    floor, product = interleave(bench.runs, lambda: floors.swap(bench.dsn, bench.csv(bench.rows)), bench.swap)
    say("blue_green: CSV, five rules, key, index and view on target", product, floor, "≤ 1.3 ×")


def incremental(bench: Bench) -> None:
    """Files whose first rows are in the table: these are below the watermark, the others above it."""
    for held, what, aim in ((1000, "nearly all", "≤ 1.3 ×"), (bench.rows // 2, "half", "–")):
        bench.hold(held)
        floor, product = interleave(
            bench.runs, lambda: floors.past_mark(bench.dsn, bench.csv(bench.rows), "bench_held"), bench.incremental
        )
        say(f"incremental_watermark: {what} above the watermark", product, floor, aim)


def growth(bench: Bench) -> None:
    """Five times the rows: the time of the product and of the floor, and the peak memory of this process tree (driver,
    JVM, workers)."""
    taken: dict[int, tuple[float, int]] = {}
    floors_taken: dict[int, float] = {}
    for rows in (bench.rows, 5 * bench.rows):
        csv = bench.csv(rows)
        floors_taken[rows] = peers.floor("pk", str(csv), bench.dsn)
        make_target(bench.dsn, peers.DDL)
        with PeakMemory() as memory:
            seconds, _ = run_once(bench.warehouse, csv)
        taken[rows] = seconds, memory.peak
    (small, small_peak), (large, large_peak) = taken[bench.rows], taken[5 * bench.rows]
    say(f"{5 * bench.rows:,} rows against {bench.rows:,}", large, small, "≤ 5.2 ×", "the fifth")
    say("the same of the floor", floors_taken[5 * bench.rows], floors_taken[bench.rows], "–", "the fifth")
    print(
        f"{'':<58} {large_peak >> 20:7,} MB {small_peak >> 20:7,} MB {'the fifth':<12} "
        f"{large_peak / small_peak:5.2f} ×   aim ≤ 1.2 × peak memory",
        flush=True,
    )


def small(bench: Bench) -> None:
    """1,000 rows: a cold `flow run` with running databases, then a warm worker from request to loaded rows."""
    fields = bench.warehouse
    make_target(bench.dsn, peers.DDL)
    document, csv = make_pipeline(bench.folder), bench.csv(10_000)
    address = f"postgresql://{fields.user}@{fields.host}:{fields.port}/{fields.database}"
    flow("connection", "remove", "warehouse")
    flow("connection", "add", "warehouse", "--url", address, password=fields.password)
    cold = []
    for number in range(bench.runs):
        put_file(bench.folder, csv, number)
        cold.append(time_cold_run(document))
    print(f"{'cold flow run, 1,000 rows, whole process':<58} {statistics.median(cold):7.2f} s   aim ≤ 12 s", flush=True)
    with running_worker(), control_plane(with_broker=True):
        warm = []
        for number in range(bench.runs, bench.runs + 25):
            put_file(bench.folder, csv, number)
            warm.append(from_request_to_loaded("bench-small", "default"))
    warm = sorted(warm[5:])
    print(
        f"{'1,000 rows from request to loaded, warm worker':<58} {statistics.median(warm):7.2f} s   aim ≤ 0.8 s, "
        f"p95 {warm[int(len(warm) * 0.95)]:.2f} s   aim ≤ 1.5 s",
        flush=True,
    )


def mysql(bench: Bench) -> None:
    """Rows of MariaDB against the same rows of PostgreSQL."""
    from tests.mariadb import WHY_NONE, has_mariadb, running_mariadb

    if not has_mariadb:
        print(f"mysql left out: {WHY_NONE}")
        return
    bench.hold(bench.rows)
    with running_mariadb() as server:
        databases.fill_mariadb(server, bench.dsn, "bench_held", bench.folder)
        load = partial(
            databases.load_from,
            server=server,
            warehouse=bench.warehouse,
            table="bench_held",
            folder=bench.folder,
            ddl=peers.DDL,
            dsn=bench.dsn,
        )
        floor, product = interleave(bench.runs, lambda: load("postgres"), lambda: load("mysql"))
    say("append of a table of MariaDB, no rules", product, floor, "≤ 1.5 ×", "PostgreSQL")


def many_files(bench: Bench) -> None:
    """A folder with a tenth as many files as `--rows`, on a server of each kind."""
    from tests.bench import listing
    from tests.connectors.storages import OBJECT_STORES

    number = bench.rows // 10
    for connector in (*OBJECT_STORES, "sftp"):
        found: list[listing.Listing] = []

        def product(found: list[listing.Listing] = found) -> float:
            found.append(listing.measure(place, "product"))
            return found[-1].seconds

        with listing.filled(connector, number) as place:
            alone, whole = interleave(bench.runs, lambda: listing.measure(place, "library").seconds, product)
        say(f"listing of {number:,} files, {connector}", whole, alone, "≤ 5 s", "its library")
        cpu, memory = statistics.median(one.cpu for one in found), max(one.megabytes for one in found)
        print(f"  CPU of the listing: {cpu:.2f} s; memory: {memory:.0f} MB   aim ≤ 100 MB", flush=True)


def parquet_from_s3(bench: Bench) -> None:
    """A file of Parquet in a bucket against the same file in a folder."""
    with stored_files(bench.warehouse, bench.dsn) as files, files.local() as folder:
        write_parquet(bench.csv(bench.rows), folder / "orders.parquet")
        there = files.upload([folder / "orders.parquet"])
        load = partial(files.load, fmt="parquet", rows=bench.rows)
        local, s3 = interleave(bench.runs, lambda: load("local_fs", folder.name), lambda: load("s3", there))
        files.remove(there)
    say("append of Parquet in S3", s3, local, "≤ 1.2 ×", "local file")


SMALL_FILES = 10_000


def small_files(bench: Bench) -> None:
    """Many small files of CSV against one file with the same rows, in a folder and in a bucket."""
    with stored_files(bench.warehouse, bench.dsn) as files, files.local() as one, files.local() as many:
        rows = write_parts(bench.csv(bench.rows), many, SMALL_FILES)
        shutil.copy(bench.csv(bench.rows), one)
        load = partial(files.load, rows=rows)
        each, whole = interleave(bench.runs, lambda: load("local_fs", many.name), lambda: load("local_fs", one.name))
        say(f"{SMALL_FILES:,} small files in a folder", each, whole, "≤ 3 ×", "one file")
        apart, together = files.upload(many.iterdir()), files.upload(one.iterdir())
        each, whole = interleave(bench.runs, lambda: load("s3", apart), lambda: load("s3", together))
        say(f"{SMALL_FILES:,} small files in S3", each, whole, "≤ 3 ×", "one file")
        files.remove(apart)
        files.remove(together)


def large_csv(bench: Bench) -> None:
    """A file of CSV in a bucket with `--megabytes`, and a quarter of it: the peak memory of driver, JVM and workers."""
    with stored_files(bench.warehouse, bench.dsn) as files, files.local() as folder:
        taken = []
        for megabytes in (bench.megabytes // 4, bench.megabytes):
            rows = megabytes * ROWS_PER_MEGABYTE
            write_csv(folder / "orders.csv", rows)
            there = files.upload([folder / "orders.csv"])
            with PeakMemory() as memory:
                seconds = files.load("s3", there, rows=rows)
            files.remove(there)
            taken.append((seconds, {**memory.peaks, "all": memory.peak}))
    (small, small_peaks), (large, large_peaks) = taken
    say(f"a CSV of {bench.megabytes:,} MB in S3", large, small, "≤ 4.2 ×", "the quarter")
    for part, peak in large_peaks.items():
        print(
            f"{f'peak memory: {part}':<58} {peak >> 20:7,} MB {small_peaks[part] >> 20:7,} MB {'the quarter':<12} "
            f"{peak / small_peaks[part]:5.2f} ×   aim ≤ 1.2 ×",
            flush=True,
        )


def delta(bench: Bench) -> None:
    """Delta tables in a folder: rows that are appended, and rows of which every one changes."""
    from tests.bench import delta

    path = bench.csv(bench.rows)
    with tempfile.TemporaryDirectory(prefix="flow-bench-lake-") as name:
        folder, load = Path(name), partial(delta.append, bench.warehouse, path)
        alone, product = interleave(bench.runs, lambda: delta.append_alone(path, folder), lambda: load(folder))
        say("append to a Delta table: CSV, five rules, quarantine", product, alone, "≤ 1.5 ×", "deltalake")
        load = partial(delta.upsert, bench.warehouse, path)
        alone, product = interleave(bench.runs, lambda: delta.merge_alone(path, folder), lambda: load(folder))
        say("upsert to a Delta table: every row changed", product, alone, "≤ 1.2 ×", "its merge")


def cdc(bench: Bench) -> None:
    """Changes of a followed table: a fifth as many as `--rows` in a backlog, all of them in one transaction."""
    from tests.bench import changes

    changes.report(bench.folder, bench.rows // 5, bench.rows)


def rejected_pages(bench: Bench) -> None:
    """Pages of rejected rows in a table with ten times the rows."""
    quarantine.run(bench.warehouse, 10 * bench.rows, times=40)


def server_times(bench: Bench) -> None:
    """Every page in a workspace with 1,000 pipelines and 1,000,000 runs."""
    pages.run(bench.services, bench.warehouse)


def tools(bench: Bench) -> None:
    """Other tools, run as processes, if they are installed (PEER_PYTHON)."""
    python = os.environ.get("PEER_PYTHON")
    if not python:
        needed = "dlt[postgres], pyarrow, adbc-driver-postgresql and ingestr"
        print(f"peers left out: PEER_PYTHON names no Python with {needed}")
        return
    os.environ["DLT_PYTHON"], os.environ["INGESTR"] = python, str(Path(python).with_name("ingestr"))
    csv = str(bench.csv(bench.rows))
    for case, floor_case in (("append", "append"), ("merge", "upsert")):
        for tool in (peers.ingestr, peers.dlt):
            floor, seconds = interleave(
                min(bench.runs, 3), partial(bench.floor, floor_case), partial(tool, case, csv, bench.dsn)
            )
            say(f"peer: {tool.__name__} {case}, whole process", seconds, floor, "–")


WITHOUT_SPARK: dict[str, Callable[[Bench], None]] = {
    "pages": server_times,
    "rejected_pages": rejected_pages,
    "many_files": many_files,
}
WARM_THEMSELVES: dict[str, Callable[[Bench], None]] = {"cdc": cdc}
"""Cases with Spark that read no files."""
CASES: dict[str, Callable[[Bench], None]] = {
    case.__name__: case
    for case in (
        append,
        expressions,
        spark_expressions,
        join,
        rules,
        upsert_changed,
        upsert_unchanged,
        truncate,
        blue_green,
        incremental,
        growth,
        small,
        mysql,
        parquet_from_s3,
        small_files,
        large_csv,
        delta,
        tools,
    )
}
CASES |= WARM_THEMSELVES | WITHOUT_SPARK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1_000, help="the size of the file of large_csv")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)}")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = Path(os.environ.setdefault("FLOW_HOME", tempfile.gettempdir() + "/flow-bench"))
        services = stack.enter_context(Services.start(home, ["postgres"]))
        os.environ.setdefault("FLOW_ENCRYPTION_KEYS", ENCRYPTION_KEY)
        fields = ensure_warehouse(services.addresses, "bench")
        dsn = "postgresql://{user}:{password}@{host}:{port}/{database}".format(**fields)
        bench = Bench(
            services, Connection("warehouse", **fields), dsn, home, options.rows, options.runs, options.megabytes
        )
        names = options.cases or list(CASES)
        if not WITHOUT_SPARK.keys() >= set(names):
            _start_spark(stack)
        if not {*WITHOUT_SPARK, *WARM_THEMSELVES} >= set(names):
            print("Spark warms up with a first load", flush=True)
            bench.append()
        for name in names:
            CASES[name](bench)


def _start_spark(stack: ExitStack) -> None:
    from executors.spark import session

    session.get_session("worker")
    session.warm_up()
    stack.callback(session.stop_session)


if __name__ == "__main__":
    main()
