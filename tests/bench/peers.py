"""Time other tools on the benchmark CSV.

Floors (psycopg): COPY into an UNLOGGED table, then one statement. dlt (pip: dlt[postgres] pyarrow
adbc-driver-postgresql; best settings found: Arrow tables, parquet load files). ingestr (pip: ingestr==1.1.0, the newest
wheel that includes its binary; needs a TCP DSN). For upsert and merge the table is filled first, untimed. The times
include the start of the tool's process.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

import psycopg

TYPES = {
    "order_id": "bigint",
    "customer_id": "bigint",
    "email": "text",
    "age": "int",
    "country": "text",
    "amount": "numeric(12,2)",
    "note": "text",
    "updated_at": "timestamp",
}
DDL = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
REST = [name for name in TYPES if name != "order_id"]


def copy(connection: psycopg.Connection, table: str, path: str) -> None:
    with connection.cursor().copy(f"copy {table} from stdin (format csv, header)") as out, open(path, "rb") as file:
        while block := file.read(1 << 20):
            out.write(block)


def floor(case: str, path: str, dsn: str) -> float:
    key = "" if case == "append" else ", primary key (order_id)"
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists floor_target, floor_stage")
        c.execute(f"create table floor_target ({DDL}{key})")
        if case == "upsert":
            copy(c, "floor_target", path)
            c.execute("vacuum analyze floor_target")
    start = time.perf_counter()
    with psycopg.connect(dsn) as c:
        c.execute(f"create unlogged table floor_stage ({DDL})")
        copy(c, "floor_stage", path)
        conflict = f" on conflict (order_id) do update set {', '.join(f'{n} = excluded.{n}' for n in REST)}"
        c.execute("insert into floor_target select * from floor_stage" + (conflict if case == "upsert" else ""))
        c.execute("drop table floor_stage")
    return time.perf_counter() - start


DLT = """
import sys, tempfile
import dlt, pyarrow as pa, pyarrow.csv as pc
case, path, dsn = sys.argv[1:]
types = dict(order_id=pa.int64(), customer_id=pa.int64(), email=pa.string(), age=pa.int32(), country=pa.string(),
             amount=pa.decimal128(12, 2), note=pa.string(), updated_at=pa.timestamp("us"))
disposition = {"append": "append", "replace": "replace", "merge": {"disposition": "merge", "strategy": "upsert"}}[case]
@dlt.resource(name="orders", write_disposition=disposition, primary_key="order_id" if case == "merge" else None)
def orders():
    convert = pc.ConvertOptions(column_types=types)
    with pc.open_csv(path, read_options=pc.ReadOptions(block_size=16 << 20), convert_options=convert) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])
with tempfile.TemporaryDirectory() as home:
    pipeline = dlt.pipeline("peer_" + case, destination=dlt.destinations.postgres(credentials=dsn),
                            dataset_name="dlt_" + case, pipelines_dir=home)
    pipeline.run(orders, loader_file_format="parquet").raise_on_failed_jobs()
"""


def timed(command: list[str], env: Mapping[str, str] | None = None) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    return time.perf_counter() - start


def dlt(case: str, path: str, dsn: str) -> float:
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute(f"drop schema if exists dlt_{case} cascade")
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:
        script.write(DLT)
    command = [os.environ.get("DLT_PYTHON", sys.executable), script.name, case, path, dsn]
    env = {"RUNTIME__DLTHUB_TELEMETRY": "false"}
    if case == "merge":
        timed(command, env)
    return timed(command, env)


def ingestr(case: str, path: str, dsn: str) -> float:
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists public.ingestr_orders")
    command = [
        os.environ.get("INGESTR", "ingestr"),
        "ingest",
        "--source-uri",
        f"csv://{path}",
        "--source-table",
        "sample",
        "--dest-uri",
        dsn,
        "--dest-table",
        "public.ingestr_orders",
        "--yes",
        "--progress",
        "log",
        "--columns",
        "order_id:bigint,customer_id:bigint,age:int,amount:decimal(12,2),updated_at:timestamp_ntz",
        "--incremental-strategy",
        case,
    ] + (["--primary-key", "order_id"] if case == "merge" else [])
    if case == "merge":
        timed(command)
    return timed(command)
