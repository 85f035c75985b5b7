"""Values, failures, limits and memory of the reader, by an ADBC driver on a real server."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executors.arrow_databases.base import Column
from executors.arrow_databases.client import connect
from executors.arrow_databases.read import array_of
from executors.database_probe import probe_database
from executors.errors import Failure, Terminal, Transient
from executors.model import Connection, SourceField
from executors.postgres.watermark_types import WatermarkType
from executors.reading import Bound, Reading
from executors.sources import load_snapshot_source
from executors.sources.base import Claimant, RowLimit, SnapshotSource, SourceContext
from ir.nodes import Source
from ir.types import ColumnType
from tests.connectors.arrow_postgres import dialect
from tests.databases import connect_to

pytestmark = [pytest.mark.usefixtures("encryption_keys"), pytest.mark.postgres]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect.register(monkeypatch)


@pytest.fixture
def shop(warehouse: Connection, schema: str) -> Shop:
    return Shop(warehouse, schema)


class Shop:
    """A schema of the test server, read through the driver."""

    def __init__(self, database: Connection, schema: str) -> None:
        self.database, self.schema = database, schema
        self.connection = dialect.stored(database)

    def run(self, *statements: str) -> None:
        with connect_to(self.database, self.schema) as session:
            for statement in statements:
                session.execute(statement)

    def source(self, config: Mapping[str, Any], **context: Any) -> SnapshotSource:
        source = Source(id="src", kind="source", connector="arrow_postgres", connection="shop", config=dict(config))
        given = {"store": self.connection, **context}
        return load_snapshot_source(source, SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-1"), **given))

    def table(self, name: str) -> dict[str, Any]:
        return {"table": {"schema": self.schema, "name": name}}

    @contextmanager
    def opened(self, config: Mapping[str, Any], **context: Any) -> Iterator[Reading]:
        handler = self.source(config, **context)
        with ExitStack() as stack:
            handler.open(stack)
            yield handler.reading(is_last=True)

    def read(self, config: Mapping[str, Any], bound: Bound | None = None, **context: Any) -> list[dict[str, Any]]:
        with self.opened(config, **context) as reading:
            return rows_of(reading.with_bound(bound) if bound and reading.with_bound else reading)


def rows_of(reading: Reading) -> list[dict[str, Any]]:
    """Return the rows without the trailer. The reader is pickled, as on its way to a task."""
    (part,) = reading.parts
    reader = pickle.loads(pickle.dumps(reading.reader))
    rows = [row for batch in reader.read(part, reading.fields) for row in batch.to_pylist()]
    assert rows[-1]["_flow_record"] == -len(rows)  # the trailer: minus one, minus the number of rows
    return rows[:-1]


DIGITS = "123456789012345678.12345678901234567890"
TYPES = (
    ("smallint", "-32768", "integer", -32768),
    ("bigint", "-9223372036854775808", "bigint", -(2**63)),
    ("numeric(38,20)", DIGITS, "decimal(38,20)", DIGITS),
    ("numeric(60,30)", "1." + "0" * 29 + "1", "decimal(60,30)", "1." + "0" * 29 + "1"),
    ("double precision", "0.1", "float", 0.1),
    ("double precision", "'NaN'", "float", "nan"),
    ("real", "16777216.5", "float", 16777216.0),
    ("boolean", "true", "boolean", True),
    ("date", "'9999-12-31'", "date", "9999-12-31"),
    ("timestamp", "'2024-02-29 23:59:59.999999'", "timestamp", "2024-02-29 23:59:59.999999"),
    ("timestamptz", "'2024-07-01 12:00:00.125+05'", "timestamptz", "2024-07-01 07:00:00.125000+00"),
    ("time", "'23:59:59.000001'", "time", "23:59:59.000001"),
    ("text", "'naïve 🙂 \"x\", \\ '", "string", 'naïve 🙂 "x", \\ '),
    ("text", "''", "string", ""),
    ("bytea", "'\\x00ff41'", "binary", "\\x00FF41"),
    ("uuid", "'123e4567-e89b-12d3-a456-426655440000'", "uuid", "123e4567-e89b-12d3-a456-426655440000"),
    ("jsonb", "'{\"a\": 1.10}'", "json", '{"a": 1.10}'),
    ("integer", "NULL", "integer", None),
    ("bytea", "NULL", "binary", None),
    ("timestamptz", "NULL", "timestamptz", None),
)  # fmt: skip


def test_every_type_arrives_exactly(shop: Shop) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, (kind, *_) in enumerate(TYPES))
    shop.run(
        f"CREATE TABLE kinds ({columns})", f"INSERT INTO kinds VALUES ({', '.join(value for _, value, *_ in TYPES)})"
    )
    with shop.opened(shop.table("kinds")) as reading:
        (row,) = rows_of(reading)
    found = [(str(f.type), "nan" if row[f.name] != row[f.name] else row[f.name]) for f in reading.fields]
    assert found == [(kind, value) for _, _, kind, value in TYPES]


def test_names_are_quoted(shop: Shop) -> None:
    shop.run('CREATE TABLE "a.b c" ("select" int, "x\'y" int, "100%" int)', 'INSERT INTO "a.b c" VALUES (1, 2, 3)')
    (row,) = shop.read(shop.table("a.b c"))
    assert (row["select"], row["x'y"], row["100%"]) == (1, 2, 3)


def test_a_query_is_read_as_it_was_written(shop: Shop) -> None:
    shop.run("CREATE TABLE orders (id int, note text)", "INSERT INTO orders VALUES (1, '{}'), (2, 'x')")
    query = f"SELECT id, '{{}} %s' AS text FROM {shop.schema}.orders WHERE note = '{{}}';"
    assert [(row["id"], row["text"]) for row in shop.read({"query": query})] == [(1, "{} %s")]


def test_all_rows_of_many_batches_arrive_in_bounded_batches(shop: Shop) -> None:
    with shop.opened(
        {"query": "SELECT x AS id, repeat('x', 1000) AS text FROM generate_series(1, 30000) AS x"}
    ) as reading:
        batches = list(reading.reader.read(reading.parts[0], reading.fields))
    assert sum(batch.num_rows for batch in batches) == 30001
    assert max(batch.nbytes for batch in batches) < 16 << 20
    assert batches[0].column("_flow_record")[0].as_py() == 1


@pytest.mark.parametrize(
    ("kind", "declared", "value", "found"),
    [
        ("int", "bigint", "5", [5, 6]),
        ("numeric(20,0)", "bigint", "5", [5, 6]),
        ("date", "date", "2024-01-06", [5, 6]),
        ("timestamp", "timestamp without time zone", "2024-01-06 00:00:00.000000", [5, 6]),
        # The target compares these in another way, or may do so: all rows are read.
        ("text", "text", "5", [1, 2, 3, 4, 5, 6]),
        ("double precision", "double precision", "5", [1, 2, 3, 4, 5, 6]),
        ("timestamptz", "timestamp with time zone", "2024-01-06 00:00:00+00", [1, 2, 3, 4, 5, 6]),
        ("int", "integer", "5; DROP TABLE marks", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_watermark_leaves_out_only_what_is_certainly_below_it(
    shop: Shop, kind: str, declared: str, value: str, found: list[int]
) -> None:
    cast = f"(DATE '2024-01-01' + id)::{kind}" if kind[:4] in ("date", "time") else f"id::{kind}"
    shop.run(
        "CREATE TABLE marks AS SELECT id, " + cast + " AS mark FROM generate_series(1, 6) AS id",
        "INSERT INTO marks VALUES (NULL, NULL)",
    )
    bound = Bound("mark", WatermarkType("number", declared, declared), value)
    assert [row["id"] for row in shop.read(shop.table("marks"), bound)] == [*found, None]


def test_a_preview_reads_only_some_rows(shop: Shop) -> None:
    shop.run("CREATE TABLE many AS SELECT generate_series(1, 100) AS id")
    assert [row["id"] for row in shop.read(shop.table("many"), limit=RowLimit(3))] == [1, 2, 3]
    some = shop.read(shop.table("many"), limit=RowLimit(5, random_of=50))
    assert len({row["id"] for row in some} & set(range(1, 51))) == 5


def test_an_empty_table_has_columns_and_no_rows(shop: Shop) -> None:
    shop.run("CREATE TABLE nothing (id int)", "CREATE TABLE something AS SELECT 1 AS id")
    with shop.opened(shop.table("nothing")) as reading:
        assert (rows_of(reading), reading.is_empty(), [field.name for field in reading.fields]) == ([], True, ["id"])
    with shop.opened(shop.table("something")) as reading:
        assert not reading.is_empty()


def test_one_statement_is_one_moment_so_several_targets_cannot_share_it(shop: Shop) -> None:
    shop.run("CREATE TABLE one (id int)")
    assert not shop.source(shop.table("one")).is_shared


@pytest.mark.parametrize(
    ("config", "code", "says"),
    [
        ({"table": {"name": "missing"}}, "source.table_unknown", 'relation "missing" does not exist'),
        ({"query": "SELECT missing FROM pg_class"}, "source.statement_refused", 'column "missing" does not exist'),
        ({"query": "SELECT a.oid, b.oid FROM pg_class a, pg_class b"}, "source.failed", "ended a statement"),
    ],
)
def test_a_statement_that_the_database_refuses(shop: Shop, config: dict[str, Any], code: str, says: str) -> None:
    with pytest.raises(Failure) as refused:
        shop.read(config)
    assert (refused.value.code, refused.value.node) == (code, "src")
    assert says in str(refused.value)


def test_a_type_that_is_not_known_is_refused(shop: Shop) -> None:
    shop.run("CREATE TABLE points (at point)")
    with pytest.raises(Terminal, match=r"'at' of .*points has the type point") as refused:
        shop.read(shop.table("points"))
    assert refused.value.code == "source.type_unsupported"


def test_a_value_in_a_type_that_was_not_asked_for_is_refused(shop: Shop) -> None:
    shop.run("CREATE TABLE numbered (id oid)", "INSERT INTO numbered VALUES (1)")
    with pytest.raises(Terminal, match="instead of boolean") as refused:
        shop.read(shop.table("numbered"))
    assert refused.value.code == "source.type_unsupported"


def test_a_value_that_fails_in_the_middle_ends_the_read(shop: Shop) -> None:
    """A driver that ends its rows early must not look like one that has read all of them. The message of the database
    may contain values, so it is not shown."""
    query = "SELECT 10000 / (20000 - x) AS share FROM generate_series(1, 30000) AS x"
    with pytest.raises(Terminal) as failed:
        shop.read({"query": query})
    assert (failed.value.code, "22012" in str(failed.value)) == ("source.failed", True)
    assert "division" not in str(failed.value)


@pytest.mark.slow
def test_a_session_that_is_ended_by_the_server_is_a_lost_connection(shop: Shop) -> None:
    rows = "generate_series(1, 100000)"
    slow = f"SELECT x AS id, repeat('x', 10000) AS text, pg_sleep(0.0005)::text AS s FROM {rows} AS x"
    sessions = f"FROM pg_stat_activity WHERE query LIKE '%{rows}%' AND pid <> pg_backend_pid()"
    with shop.opened({"query": slow}) as reading:
        ender = threading.Timer(1.0, shop.run, [f"SELECT pg_terminate_backend(pid) {sessions}"])
        ender.start()
        with pytest.raises(Transient) as lost:
            rows_of(reading)
        ender.join()
    assert lost.value.code == "source.lost"


@pytest.mark.slow
def test_a_statement_ends_at_the_time_limit(shop: Shop) -> None:
    started = time.monotonic()
    with pytest.raises(Transient, match="longer than it may") as ended:
        shop.read({"query": "SELECT pg_sleep(60)::text AS s FROM generate_series(1, 2)"}, most_seconds=1.0)
    assert ended.value.code == "source.cancelled"
    assert time.monotonic() - started < 30


def test_a_statement_is_interrupted_from_another_thread(shop: Shop) -> None:
    query = {"query": "SELECT x AS id FROM (SELECT max(pg_sleep(60)::text) AS x FROM generate_series(1, 2)) AS s"}
    handler = shop.source(query)
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        waiter = threading.Timer(1.0, handler.interrupt)
        waiter.start()
        with pytest.raises(Transient) as ended:
            reading.is_empty()
        waiter.join()
    assert (ended.value.code, ended.value.node) == ("source.cancelled", "src")


def test_an_ended_session_runs_no_further_statement(shop: Shop) -> None:
    with connect(dialect.DIALECT, shop.connection, 60) as session:
        session.interrupt()
        with pytest.raises(Transient) as ended:
            session.values("SELECT 1 AS x")
    assert ended.value.code == "source.cancelled"


def test_a_wrong_password_is_not_repeated(shop: Shop) -> None:
    shop.connection = replace(shop.connection, secrets={"password": "S3cret-Pass"})
    with pytest.raises(Failure) as refused:
        shop.read(shop.table("any"))
    assert refused.value.code in ("source.auth_failed", "source.unreachable")
    assert "S3cret-Pass" not in f"{refused.value!r} {refused.value} {refused.value.__cause__}"


def test_a_server_that_does_not_answer_is_tried_again(shop: Shop) -> None:
    shop.connection = replace(shop.connection, settings={**shop.connection.settings, "port": 9})
    with pytest.raises(Transient) as refused:
        shop.read(shop.table("any"))
    assert refused.value.code == "source.unreachable"


def test_no_secret_is_in_the_pickled_reader(shop: Shop) -> None:
    shop.run("CREATE TABLE one (id int)")
    shop.connection = replace(shop.connection, secrets={**shop.connection.secrets, "token": "S3cret-Token"})
    with shop.opened(shop.table("one")) as reading:
        assert b"S3cret-Token" not in pickle.dumps((reading.reader, reading.parts))


def test_a_connection_is_tested(shop: Shop) -> None:
    found = probe_database(shop.connection)
    assert found.server_version.startswith("PostgreSQL 1")
    assert "not been tested against a real server" in found.notes[0]


@pytest.mark.parametrize(
    ("kind", "values", "is_text"),
    [
        ("integer", pa.array([2**31]), False),
        ("bigint", pa.array(["1.5"]).cast(pa.decimal128(3, 1)), False),
        ("string", pa.array([b"\xff"], pa.binary()).view(pa.string()), False),
    ],
)
def test_a_value_that_the_type_does_not_have_is_not_changed(kind: str, values: pa.Array, is_text: bool) -> None:
    column = Column(SourceField("x", ColumnType(kind), as_text=is_text))
    with pytest.raises(pa.ArrowInvalid):
        array_of(values, column).validate(full=True)
