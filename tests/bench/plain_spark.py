"""The floor of a join: plain Spark SQL with Spark's own CSV reader, and COPY from its tasks."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.csv as pc

from executors.spark.session import RunSession
from tests.bench import peers

ORDERS = "order_id long, customer_id long, email string, age int, country string, amount decimal(12,2), note string, "
ORDERS += "updated_at timestamp_ntz"
JOINED = f"{peers.DDL}, customer_name text"
"""The columns of a table of orders with the names of their customers."""


def write_customers(path: Path, rows: int, of: int = 100_000) -> None:
    """Write a CSV file of `rows` customers with keys that are evenly spread below `of`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "name"])
        writer.writerows([number * of // rows, f"Customer {number}"] for number in range(rows))


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Copies the batches of a task into a table."""

    dsn: str
    table: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = 0
        with psycopg.connect(self.dsn) as c, c.cursor().copy(f"copy {self.table} from stdin (format csv)") as out:
            for batch in batches:
                text = io.BytesIO()
                pc.write_csv(batch, text, pc.WriteOptions(include_header=False))
                out.write(text.getvalue())
                rows += batch.num_rows
        yield pa.RecordBatch.from_pydict({"rows": [rows]})


def join(dsn: str, orders: Path, customers: Path) -> float:
    """Return the seconds of a left join by Spark SQL, of COPY into an UNLOGGED table, and of INSERT into a table with a
    key."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists join_stage, join_target")
        c.execute(f"create table join_target ({JOINED}, primary key (order_id))")
        c.execute(f"create unlogged table join_stage ({JOINED})")
    with RunSession() as session:
        spark = session.start()
        start = time.perf_counter()
        spark.read.csv(str(orders), ORDERS, header=True).createOrReplaceTempView("bench_orders")
        spark.read.csv(str(customers), "id long, name string", header=True).createOrReplaceTempView("bench_customers")
        joined = spark.sql("select o.*, c.name from bench_orders o left join bench_customers c on o.customer_id = c.id")
        copied = joined.mapInArrow(CopyTask(dsn, "join_stage"), "rows long").collect()
        with psycopg.connect(dsn) as c:
            c.execute("insert into join_target select * from join_stage")
            c.execute("drop table join_stage")
        seconds = time.perf_counter() - start
    if not sum(row["rows"] for row in copied):
        raise AssertionError("no row was joined")
    return seconds
