"""The statements that Flow sends to systems without a server here. sqlglot parses each one in its dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp, parse

from executors import arrow_databases
from executors.arrow_databases import DIALECTS, base, load_dialect
from executors.arrow_databases.base import ResultColumn, Session
from executors.errors import Terminal
from executors.model import StoreConnection
from executors.postgres.watermark_types import WatermarkType
from executors.reading import Bound
from executors.sources import load_snapshot_source
from executors.sources.base import Claimant, RowLimit, SnapshotSource, SourceContext
from ir.nodes import Source
from ir.types import ColumnType

pytestmark = pytest.mark.usefixtures("encryption_keys")

SQLGLOT = {"sqlserver": "tsql", "oracle": "oracle", "snowflake": "snowflake", "bigquery": "bigquery"}
NAMES = {"sqlserver": "[{}]", "oracle": '"{}"', "snowflake": '"{}"', "bigquery": "`{}`"}
DAY = {
    "sqlserver": "CAST('2024-01-05' AS date)",
    "oracle": "DATE '2024-01-05'",
    "snowflake": "DATE '2024-01-05'",
    "bigquery": "DATE '2024-01-05'",
}
# For each system: a whole number, a decimal, a day or a time, a moment with a zone, a text and bytes.
COLUMNS: dict[str, Sequence[ResultColumn]] = {
    "sqlserver": [
        ResultColumn("id", "bigint"),
        ResultColumn("price", "decimal", 38, 10),
        ResultColumn("day", "date"),
        ResultColumn("at", "datetimeoffset"),
        ResultColumn("note", "nvarchar"),
        ResultColumn("code", "varbinary"),
    ],
    "oracle": [
        ResultColumn("id", "number", 18, 0),
        ResultColumn("price", "number", 38, 10),
        ResultColumn("day", "date"),
        ResultColumn("at", "timestamp_tz", 0, 6),
        ResultColumn("note", "varchar"),
        ResultColumn("code", "raw"),
    ],
    "snowflake": [
        ResultColumn("id", "decimal", 38, 0),
        ResultColumn("price", "decimal", 38, 10),
        ResultColumn("day", "date32"),
        ResultColumn("at", "timestamp utc"),
        ResultColumn("note", "string"),
        ResultColumn("code", "binary"),
    ],
    "bigquery": [
        ResultColumn("id", "int64"),
        ResultColumn("price", "decimal", 76, 38),
        ResultColumn("day", "date32"),
        ResultColumn("at", "timestamp utc"),
        ResultColumn("note", "string"),
        ResultColumn("code", "binary"),
    ],
}


@dataclass
class Recorded(Session):
    """A session that answers every statement with the same columns and, for a moment, with one number."""

    columns: Sequence[ResultColumn]
    statements: list[str] = field(default_factory=list)

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        self.statements.append(statement)
        rows = [{"moment": "4711"}] if "dbms_flashback" in statement else []
        yield pa.RecordBatch.from_pylist(rows, schema=pa.schema([("moment", pa.string())]))

    def describe(self, statement: str) -> Sequence[ResultColumn]:
        self.statements.append(statement)
        return self.columns

    def cancel(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture(params=list(SQLGLOT))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(name: str, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """The session that the system of the test opens."""
    session = Recorded(COLUMNS[name])
    module = SimpleNamespace(DIALECT=replace(load_dialect(DIALECTS[name]), connect=lambda *_: session))
    monkeypatch.setattr(arrow_databases, "import_module", lambda name: module)
    monkeypatch.setattr(base, "import_module", lambda name: SimpleNamespace(Error=RuntimeError))
    return session


def opened(name: str, config: dict[str, Any], **context: Any) -> SnapshotSource:
    source = Source(id="src", kind="source", connector=name, connection="shop", config=config)
    given = {"store": StoreConnection("shop", name, {}, {}), **context}
    handler = load_snapshot_source(source, SourceContext(Path(), Claimant("p", frozenset({"src"}), "run-1"), **given))
    handler.open(ExitStack())
    return handler


def statement_of(handler: SnapshotSource, bound: Bound | None = None) -> str:
    reading = handler.reading()
    (part,) = (reading.with_bound(bound) if bound and reading.with_bound else reading).parts
    return str(part.statement)


def parsed(statement: str, name: str) -> exp.Select:
    """Return the tree of one SELECT."""
    (tree,) = parse(statement, dialect=SQLGLOT[name])
    assert isinstance(tree, exp.Select)
    return tree


def test_a_table_is_read_by_one_select_with_quoted_names(name: str, session: Recorded) -> None:
    handler = opened(name, {"table": {"schema": "Sales", "name": "Order Lines"}})
    tree = parsed(statement_of(handler), name)
    (table,) = tree.find_all(exp.Table)
    assert (table.db, table.name, table.alias) == ("Sales", "Order Lines", "q")
    assert [column.alias_or_name for column in tree.selects] == [column.name for column in COLUMNS[name]]
    assert all(identifier.quoted for identifier in table.find_all(exp.Identifier) if identifier.name != "q")


def test_a_quote_in_a_name_does_not_end_it(name: str) -> None:
    quote = load_dialect(DIALECTS[name]).quote
    odd = "a]b`c\\d;--"
    (tree,) = parse(f"SELECT q.{quote(odd)} FROM t q", dialect=SQLGLOT[name])
    assert isinstance(tree, exp.Select)
    assert tree.selects[0].name == odd


def test_columns_are_asked_for_without_rows(name: str, session: Recorded) -> None:
    opened(name, {"query": "SELECT a FROM t WHERE b = '{}'"})
    first = session.statements[0]
    assert first == "SELECT * FROM (SELECT a FROM t WHERE b = '{}'\n) q WHERE 1 = 0"
    parsed(first, name)


def test_only_rows_from_a_watermark_on_are_read(name: str, session: Recorded) -> None:
    handler = opened(name, {"query": "SELECT a FROM t"})
    whole = statement_of(handler, Bound("id", WatermarkType("number", "bigint", "bigint"), "-12"))
    column = "q." + NAMES[name].format("id")
    assert whole.endswith(f"WHERE ({column} >= -12 OR {column} IS NULL)")
    parsed(whole, name)


def test_a_watermark_that_the_system_compares_differently_filters_nothing(name: str, session: Recorded) -> None:
    handler = opened(name, {"query": "SELECT a FROM t"})
    for column, declared, value in (
        ("note", "text", "x"),
        ("at", "timestamp with time zone", "2024-01-01 00:00:00+00"),
        ("price", "bigint", "5"),
        ("id", "bigint", "5 OR 1 = 1"),
    ):
        bound = Bound(column, WatermarkType("number", declared, declared), value)
        assert statement_of(handler, bound).endswith("WHERE 1 = 1")


def test_a_day_is_compared_as_a_day(name: str, session: Recorded) -> None:
    if name == "oracle":  # Its DATE has a time.
        declared, value, literal = (
            "timestamp without time zone",
            "2024-01-05 10:00:00.5",
            "TIMESTAMP '2024-01-05 10:00:00.5'",
        )
    else:
        declared, value, literal = "date", "2024-01-05", DAY[name]
    bound = Bound("day", WatermarkType("time", declared, declared), value)
    statement = statement_of(opened(name, {"query": "SELECT a FROM t"}), bound)
    assert f" >= {literal} OR " in statement
    parsed(statement, name)


def test_a_preview_limits_the_rows_at_the_server(name: str, session: Recorded) -> None:
    some = statement_of(opened(name, {"table": {"name": "t"}}, limit=RowLimit(7)))
    sample = statement_of(opened(name, {"table": {"name": "t"}}, limit=RowLimit(7, random_of=1000)))
    for statement, counts in ((some, ["7"]), (sample, ["7", "1000"])):
        tree = parsed(statement, name)
        limits = [limit.args.get("expression") or limit.args["count"] for limit in tree.find_all(exp.Limit, exp.Fetch)]
        assert [limit.sql().strip("()") for limit in limits] == counts


def test_decimals_and_moments_are_selected_as_text_and_numbers_stay(name: str, session: Recorded) -> None:
    fields = {field.name: field for field in opened(name, {"query": "SELECT a FROM t"}).reading().fields}
    assert {name: str(field.type) for name, field in fields.items()} == {
        "id": "decimal(38,0)" if name == "snowflake" else "bigint",
        "price": "decimal(76,38)" if name == "bigquery" else "decimal(38,10)",
        "day": "timestamp" if name == "oracle" else "date",
        "at": "timestamptz",
        "note": "string",
        "code": "binary",
    }
    assert [fields[column].as_text for column in ("price", "day", "at", "note", "code")] == [
        True,
        True,
        True,
        False,
        True,
    ]


def test_every_type_is_selected_by_an_expression_of_its_dialect(name: str) -> None:
    dialect = load_dialect(DIALECTS[name])
    unknown_to_sqlglot = {("oracle", "json")}
    for kind, make in dialect.types.items():
        column = make(ResultColumn("c", kind, 10, 2))
        if (name, kind) not in unknown_to_sqlglot:
            parsed(f"SELECT {column.expression.format('q.c')} AS c FROM t q", name)
        assert isinstance(column.field.type, ColumnType)


def test_an_unknown_type_is_refused(name: str, session: Recorded) -> None:
    session.columns = [ResultColumn("where", "geometry")]
    with pytest.raises(Terminal, match="'where' of query has the type geometry"):
        opened(name, {"query": "SELECT a FROM t"})


def test_oracle_reads_a_table_at_one_moment_for_all_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = Recorded(COLUMNS["oracle"])
    module = SimpleNamespace(DIALECT=replace(load_dialect(DIALECTS["oracle"]), connect=lambda *_: oracle))
    monkeypatch.setattr(arrow_databases, "import_module", lambda name: module)
    monkeypatch.setattr(base, "import_module", lambda name: SimpleNamespace(Error=RuntimeError))
    table = opened("oracle", {"table": {"schema": "SALES", "name": "ORDERS"}})
    assert table.is_shared
    assert ' FROM "SALES"."ORDERS" AS OF SCN 4711 q WHERE ' in statement_of(table)
    assert not opened("oracle", {"query": "SELECT a FROM t"}).is_shared


def test_oracle_reads_a_table_of_a_user_who_may_not_read_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutFlashback(Recorded):
        def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
            raise RuntimeError(SimpleNamespace(full_code="ORA-00904", message="invalid identifier"))

    session = WithoutFlashback(COLUMNS["oracle"])
    module = SimpleNamespace(DIALECT=replace(load_dialect(DIALECTS["oracle"]), connect=lambda *_: session))
    monkeypatch.setattr(arrow_databases, "import_module", lambda name: module)
    monkeypatch.setattr(base, "import_module", lambda name: SimpleNamespace(Error=RuntimeError))
    table = opened("oracle", {"table": {"schema": "SALES", "name": "ORDERS"}})
    assert not table.is_shared
    assert ' FROM "SALES"."ORDERS" q WHERE ' in statement_of(table)


@pytest.mark.parametrize(
    ("digits", "scale", "kind"),
    [
        (9, 0, "integer"),
        (18, 0, "bigint"),
        (19, 0, "decimal(19,0)"),
        (38, 10, "decimal(38,10)"),
        (3, 5, "decimal(5,5)"),
        (5, -3, "decimal(8,0)"),
        (0, -127, "string"),
        (126, -127, "string"),
        (0, 0, "string"),
    ],
)
def test_a_number_of_oracle_has_the_digits_that_are_declared(digits: int, scale: int, kind: str) -> None:
    column = load_dialect(DIALECTS["oracle"]).types["number"](ResultColumn("n", "number", digits, scale))
    assert str(column.field.type) == kind
    assert "'TM9'" in column.expression


def test_a_database_that_reads_no_snapshots_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutSnapshots(Recorded):
        def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"x": [1]})

    session = WithoutSnapshots(COLUMNS["sqlserver"])
    module = SimpleNamespace(DIALECT=replace(load_dialect(DIALECTS["sqlserver"]), connect=lambda *_: session))
    monkeypatch.setattr(arrow_databases, "import_module", lambda name: module)
    monkeypatch.setattr(base, "import_module", lambda name: SimpleNamespace(Error=RuntimeError))
    (warning,) = opened("sqlserver", {"table": {"name": "orders"}}).warnings
    assert warning.code == "source.not_one_moment"


@pytest.mark.parametrize("system", list(DIALECTS))
def test_a_driver_that_is_not_installed_is_named_with_the_command(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    facts = load_dialect(DIALECTS[system])
    monkeypatch.setattr(base, "import_module", missing)
    with pytest.raises(Terminal) as refused:
        facts.load_driver()
    assert refused.value.code == "source.driver_missing"
    assert f"pip install 'flow-pipelines[{system}]'" in str(refused.value.hint)


class Driver:
    """A driver whose connections refuse every statement."""

    def __init__(self) -> None:
        self.is_closed = False

    def connect(self, *_: Any, **__: Any) -> Driver:
        return self

    def pooling(self, *, enabled: bool) -> None:
        """Ignored."""

    def cursor(self, **_: Any) -> Driver:
        return Driver()

    def execute(self, statement: str, *_: Any) -> None:
        raise RuntimeError(statement)

    def close(self) -> None:
        self.is_closed = True


FIELDS = {
    **dict.fromkeys(("host", "port", "database", "user", "encryption"), "x"),
    **dict.fromkeys(("service", "protocol", "account", "warehouse", "schema", "role"), "x"),
}


@pytest.mark.parametrize("kind", ["sqlserver", "oracle", "snowflake"])
def test_a_session_that_cannot_be_set_up_is_closed(kind: str) -> None:
    driver = Driver()
    with pytest.raises(RuntimeError):
        load_dialect(DIALECTS[kind]).connect(driver, StoreConnection("shop", kind, FIELDS, {"password": "x"}), 60)
    assert driver.is_closed
