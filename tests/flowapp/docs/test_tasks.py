"""The examples of the task pages, run as a reader would run them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType

import pytest

from executors.model import Connection
from executors.postgres.client import connect
from executors.processes.launch import sandbox_version
from flowapp.accounts.services import ensure_workspace
from tests.connectors.http_api.service import Service, serving
from tests.connectors.http_pull.server import new_server as new_web_server
from tests.connectors.http_pull.storage import WebStorage
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.s3.server import BUCKET, S3Server
from tests.connectors.server import shared_server
from tests.connectors.sftp.server import PASSWORD
from tests.connectors.sftp.server import shared_server as sftp_server
from tests.connectors.sftp.storage import SftpStorage
from tests.flowapp.cli.conftest import Flow
from tests.flowapp.docs.examples import Block, is_printed, list_tasks, read_blocks
from tests.flowapp.quarantine.keeping import connect_to
from tests.logical_server import logical_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]

ORDERS = ("load-a-csv", "find-a-row", "fix-rejected-rows", "schedule-a-pipeline", "move-to-another-installation")
"""Pages that continue the example of the page before."""
ALONE = (
    "keep-two-tables-in-step",
    "follow-a-table",
    "backfill",
    "follow-changes-of-a-source",
    "branch-rows",
    "load-arrays",
    "load-several-sources",
    "load-totals",
    "join-with-a-table",
    "read-files-from-a-bucket",
    "read-files-over-sftp",
    "read-files-from-a-web-server",
    "read-records-of-a-web-service",
    "read-with-a-singer-tap",
    "read-tables-of-a-warehouse",
    "select-with-sql",
    "go-to-production",
    "use-a-custom-transform",
)
PROJECTS = ("follow-a-project", "keep-pipelines-in-git", "write-transforms-as-code")
"""Pages whose files `test_projects` plans and applies."""
LONG_AGO = 1_700_000_000


@dataclass(frozen=True)
class Reader:
    """Executes the examples of a page, with files in a folder of the test and tables in its schema."""

    folder: Path
    files: Path
    schema: str
    warehouse: Connection
    flow: Flow
    values: dict[str, str] = field(default_factory=dict)
    """What stands for the values of the page in the arguments of commands."""
    databases: dict[str, Connection] = field(default_factory=dict)
    """The databases of SQL that is not for the warehouse, by the names that its blocks have."""

    def follow(self, page: str) -> None:
        for block in read_blocks(page):
            match block.language:
                case "csv" | "jsonl":
                    self._write(self.files / block.file, block.text)
                case "json" if block.file:
                    self._write(self.folder / block.file, self._in_schema(block.text))
                case "sql":
                    database = self.databases[block.file] if block.file else self.warehouse
                    with connect(database, autocommit=True) as conn:
                        conn.execute(self._in_schema(block.text))
                case "console":
                    self._run(block)

    def query(self, query: str) -> list[tuple]:
        with connect(self.warehouse) as conn:
            return conn.execute(self._in_schema(query)).fetchall()

    def _run(self, block: Block) -> None:
        for (program, *arguments), printed in block.commands:
            assert program == "flow"
            finished = self.flow(*(self.values.get(argument, argument) for argument in arguments))
            output = finished.stdout + finished.stderr
            assert finished.status == 0, output
            missing = [line for line in printed if not is_printed(self._in_schema(line), output)]
            assert not missing, f"flow {' '.join(arguments)} did not print {missing}:\n{output}"

    def _in_schema(self, text: str) -> str:
        return re.sub(r'\bpublic(?=["\.])', self.schema, text)

    def _write(self, path: Path, text: str) -> None:
        """The file has not changed for long, so that no run waits for it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def follow(settings, tmp_path, monkeypatch, warehouse, schema, flow) -> Callable[..., Reader]:
    """Follow pages one after the other, in the workspace `default` with a connection `warehouse`."""
    settings.FILES_ROOT = tmp_path / "files"
    monkeypatch.chdir(tmp_path)
    connect_to(ensure_workspace("default"), warehouse)
    reader = Reader(tmp_path, settings.FILES_ROOT / "default", schema, warehouse, flow)

    def call(
        *pages: str,
        values: Mapping[str, str] = MappingProxyType({}),
        databases: Mapping[str, Connection] = MappingProxyType({}),
    ) -> Reader:
        reader.values.update(values)
        reader.databases.update(databases)
        for page in pages:
            reader.follow(page)
        return reader

    return call


def test_a_csv_is_loaded_and_its_rejected_row_is_found_fixed_and_loaded(follow):
    reader = follow(*ORDERS)

    assert reader.query("SELECT id, customer FROM public.orders ORDER BY id") == [
        (1, "Ann"),
        (2, "Bob"),
        (3, "unknown"),
    ]


def test_a_copy_has_the_rows_of_its_source(follow):
    reader = follow("keep-two-tables-in-step")
    source, copy = (
        reader.query(f"SELECT id, name FROM public.{t} ORDER BY id") for t in ("customers", "customers_copy")
    )

    assert source == copy == [(1, "Anne"), (3, "Carol")]


@pytest.mark.slow
def test_a_history_is_loaded_in_chunks(follow):
    reader = follow("backfill")
    assert reader.query("SELECT count(*), count(DISTINCT id) FROM public.all_events") == [(200, 200)]


@pytest.mark.slow
def test_the_files_of_a_bucket_are_loaded_and_archived(follow, monkeypatch):
    server = shared_server(S3Server)
    storage = ObjectStorage(server, path="orders/")
    (rows,) = [block for block in read_blocks("read-files-from-a-bucket") if block.language == "csv"]
    storage.write("2026-03-01.csv", rows.text.encode())
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", server.connection().secrets["secretKey"])
    values = {
        "bucket=acme-landing": f"bucket={BUCKET}",
        "endpoint=https://minio.example.com:9000": f"endpoint={server.endpoint}",
        "accessKey=AKIAIOSFODNN7EXAMPLE": f"accessKey={server.connection().settings['accessKey']}",
    }
    reader = follow("read-files-from-a-bucket", values=values)

    assert reader.query("SELECT id, customer FROM public.bucket_orders ORDER BY id") == [(1, "Ann"), (2, "Bob")]
    assert (storage.exists("2026-03-01.csv"), storage.exists("loaded/2026-03-01.csv")) == (False, True)


@pytest.mark.slow
def test_the_files_of_an_sftp_server_are_loaded_and_archived(follow, monkeypatch):
    server = sftp_server()
    storage = SftpStorage(server, path="orders/")
    storage.make()
    (rows,) = [block for block in read_blocks("read-files-over-sftp") if block.language == "csv"]
    storage.write("2026-03-01.csv", rows.text.encode())
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", PASSWORD)
    values = {
        "host=sftp.example.com": "host=127.0.0.1",
        "port=22": f"port={server.port}",
        "hostKey=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…": f"hostKey={server.public_key}",
    }
    reader = follow("read-files-over-sftp", values=values)

    assert reader.query("SELECT id, customer FROM public.sftp_orders ORDER BY id") == [(1, "Ann"), (2, "Bob")]
    assert (storage.exists("2026-03-01.csv"), storage.exists("loaded/2026-03-01.csv")) == (False, True)


@pytest.mark.slow
def test_the_files_of_a_web_server_are_loaded(follow, monkeypatch):
    server = new_web_server()
    try:
        storage = WebStorage(server, name="exports/orders")
        server.credentials = "Bearer t0ken"
        (rows,) = [block for block in read_blocks("read-files-from-a-web-server") if block.language == "csv"]
        storage.write("2026-03-01.csv", rows.text.encode())
        (server.folder / "exports" / "readme.txt").write_text("Orders of each day.")
        monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", "t0ken")
        address = "https://data.example.com/"
        monkeypatch.setattr(Reader, "_in_schema", _at(Reader._in_schema, address, server.url))
        reader = follow("read-files-from-a-web-server", values={f"url={address}exports/": f"url={server.url}exports/"})

        assert reader.query("SELECT id, customer FROM public.daily_orders ORDER BY id") == [(1, "Ann"), (2, "Bob")]
    finally:
        server.end()


@pytest.mark.slow
def test_the_records_of_a_web_service_are_loaded(follow, monkeypatch):
    shown = next(
        json.loads(block.text) for block in read_blocks("read-records-of-a-web-service") if block.language == "json"
    )
    third = {"id": 3, "updated_at": "2024-03-02T08:00:00Z", "customer": "Eve", "total": 5}
    with serving(Service([*shown["data"], third], token="t0ken", page_size=2)) as service:
        monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", "t0ken")
        address = "https://api.example.com/v1/"
        monkeypatch.setattr(Reader, "_in_schema", _at(Reader._in_schema, address, service.url))
        reader = follow("read-records-of-a-web-service", values={f"url={address}": f"url={service.url}"})

    assert reader.query("SELECT id, customer, total FROM public.api_orders ORDER BY id") == [
        (1, "Ann", 25),
        (2, "Bob", Decimal("7.50")),
        (3, "Eve", 5),
    ]


@pytest.mark.slow
@pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock")
def test_a_stream_of_a_tap_is_loaded(follow, settings, tmp_path):
    settings.TAPS = tmp_path / "taps"
    reader = follow("read-with-a-singer-tap")

    assert reader.query("SELECT * FROM public.shop_orders ORDER BY id") == [
        (1, "Ann", Decimal("25.50")),
        (2, "Bob", Decimal("7.25")),
    ]


@pytest.mark.slow
def test_a_table_of_a_warehouse_is_declared(follow, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", "s3cret")
    follow("read-tables-of-a-warehouse")


def _at(in_schema: Callable[[Reader, str], str], address: str, other: str) -> Callable[[Reader, str], str]:
    """Put another address in place of that of the page."""
    return lambda reader, text: in_schema(reader, text).replace(address, other)


@pytest.mark.slow
def test_a_mirror_follows_a_table_of_another_server(follow, settings, schema, monkeypatch):
    settings.FLOW_STREAMING_ENABLED = True
    with logical_server(18) as server:
        shop = server.connection
        with connect(shop, autocommit=True) as conn:
            conn.execute(f"CREATE SCHEMA {schema}")
        monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", shop.password)
        there = f"postgresql://{shop.user}@{shop.host}:{shop.port}/{shop.database}?sslmode=prefer"
        address = "postgresql://flow@shop-db.example.com:5432/shop?sslmode=require"
        reader = follow("follow-a-table", values={address: there}, databases={"shop": shop})

    assert reader.query("SELECT id, total, channel FROM public.orders_mirror ORDER BY id") == [
        (2, Decimal("8.50"), None),
        (3, Decimal("5.00"), None),
        (4, Decimal("12.00"), "web"),
    ]


def test_orders_get_the_names_of_their_customers(follow):
    reader = follow("join-with-a-table")

    assert reader.query("SELECT id, customer_name FROM public.named_orders ORDER BY id") == [
        (1, "Ann"),
        (2, "Bob"),
        (3, None),
        (4, None),
    ]


def test_each_order_comes_into_the_table_of_its_region(follow):
    reader = follow("branch-rows")

    assert [len(reader.query(f"SELECT FROM public.orders_{name}")) for name in ("europe", "america", "others")] == [
        2,
        1,
        1,
    ]


def test_orders_of_two_sources_come_into_one_table(follow):
    reader = follow("load-several-sources")

    assert reader.query("SELECT id, shop FROM public.all_orders ORDER BY id") == [(1, "Bern"), (2, "Basel"), (3, "web")]


def test_orders_are_shaped_by_a_query(follow):
    reader = follow("select-with-sql")

    assert reader.query("SELECT id, status FROM public.paid_orders ORDER BY id") == [(1, "PAID"), (3, "PAID")]


def test_the_commands_for_production_work(follow):
    follow("go-to-production")


def test_every_task_page_is_run():
    assert set(list_tasks()) == {*ORDERS, *ALONE, *PROJECTS}


def test_pages_that_do_not_continue_another_one_have_names_of_their_own():
    """Readers who follow two pages in one workspace must not save over the first pipeline, or load into its table."""
    taken: dict[str, str] = {}
    for page in (*ALONE, *PROJECTS, ORDERS[0]):
        documents = [json.loads(b.text) for b in read_blocks(page) if b.language == "json" and '"pipeline"' in b.text]
        for document in documents:
            targets = [node for node in document["nodes"] if node["kind"] == "target"]
            for name in (document["id"], *(f"{node['schema']}.{node['table']}" for node in targets)):
                assert taken.setdefault(name, page) == page, name


def test_each_country_gets_one_row_of_totals(follow) -> None:
    reader = follow("load-totals")
    assert reader.query("select country, orders, customers, amount from public.totals order by 1") == [
        ("DE", 3, 2, 40),
        ("FR", 1, 1, Decimal("7.50")),
    ]


def test_an_order_is_loaded_with_all_its_lines_or_not_at_all(follow) -> None:
    reader = follow("load-arrays")
    assert reader.query("select id, line_no, sku, quantity from public.order_lines order by 1, 2") == [
        (1, 0, "A-1", 2),
        (1, 1, "B-7", 1),
    ]


@pytest.mark.slow
def test_accounts_with_a_wrong_iban_are_rejected(follow, tmp_path) -> None:
    examples = Path(__file__).parents[3] / "docs/examples/custom-transforms"
    shutil.copy(examples / "assemblyscript/iban_check.wasm", tmp_path)
    reader = follow("use-a-custom-transform")
    assert reader.query("select id, country from public.accounts order by 1") == [("1", "GB"), ("2", "DE"), ("4", None)]
