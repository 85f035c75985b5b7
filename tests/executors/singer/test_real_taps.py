"""Taps that package indexes have, installed as `flow tap add` does. Each needs some seconds and a package index."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from executors.errors import Terminal
from executors.model import StoreConnection
from executors.processes.launch import sandbox_version
from executors.singer.catalogs import Selection
from executors.singer.environments import TapFolder
from executors.singer.installing import TapRequest, install_tap, remove_tap
from executors.singer.reading import StreamRead, TapReader
from executors.singer.settings import merge_settings
from tests.mariadb import WHY_NONE, MariaDB, has_mariadb, running_mariadb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock"),
]

Call = Callable[..., tuple[StreamRead, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> TapFolder:
    return TapFolder(tmp_path_factory.mktemp("taps"))


def reading(folder: TapFolder, name: str, config: Any, stream: str, readable: Sequence[Path] = ()) -> Call:
    """Return a function that reads a stream of an installed tap since a state."""

    def read(state: str | None = None, **selection: Any) -> tuple[StreamRead, list[dict[str, Any]]]:
        with folder.used(name) as tap:
            stored = StoreConnection("stored", "singer", {"tap": name}, {"settings": json.dumps(config)})
            reader = TapReader(folder, tap, merge_settings(tap, {}, stored), seconds=60, readable=readable)
            rows: list[dict[str, Any]] = []

            def take(row: str) -> bool:
                rows.append(json.loads(row, parse_float=str))
                return True

            found = reader.read(Selection(stream, **selection), state=state, take=take)
        return found, sorted(rows, key=lambda row: row["id"])

    return read


def test_a_tap_of_files_reads_the_workspace_and_continues(folder: TapFolder, tmp_path: Path) -> None:
    tap = install_tap(folder, TapRequest("lines", package="tap-jsonl==0.3.1"))
    assert (tap.package, tap.executable, tap.settings) == ("tap-jsonl==0.3.1", "tap-jsonl", ())
    (tmp_path / "a.jsonl").write_text('{"id": 1, "amount": 10.5}\n{"id": 2, "amount": null}\n')
    config = {"path": "*.jsonl", "stream_name": "people", "primary_keys": ["id"]}
    read = reading(folder, "lines", config, "people", [tmp_path])
    first, rows = read()
    assert [(row["id"], row["amount"]) for row in rows] == [(1, "10.5"), (2, None)]
    assert {field.name: str(field.type) for field in first.fields}["_sdc_last_modified"] == "timestamptz"
    assert json.loads(first.state or "")["bookmarks"]["people"]["replication_key"] == "_sdc_last_modified"
    second, _ = read(first.state)
    assert second.state == first.state


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDB]:
    if not has_mariadb:
        pytest.skip(WHY_NONE)
    with running_mariadb() as server:
        yield server


def test_a_tap_of_a_database_reads_exact_numbers_and_new_rows(folder: TapFolder, mariadb: MariaDB) -> None:
    install_tap(folder, TapRequest("mysql", package="tap-mysql==1.17.7"))
    mariadb.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, amount decimal(20,2), big bigint unsigned, changed datetime)",
        "INSERT INTO orders VALUES (1, 123456789012345678.90, 18446744073709551615, '2026-01-01')",
    )
    connection = mariadb.connection()
    names = {"host": "host", "port": "port", "user": "user", "filter_dbs": "database"}
    config = {name: str(connection.settings[ours]) for name, ours in names.items()}
    read = reading(folder, "mysql", {**config, "password": connection.secrets["password"]}, "orders")
    first, rows = read(method="INCREMENTAL", key="changed")
    assert rows == [{"id": 1, "amount": "123456789012345678.90", "big": 2**64 - 1, "changed": rows[0]["changed"]}]
    assert {field.name: str(field.type) for field in first.fields} == {
        "id": "bigint",
        "amount": "pg:numeric",
        "big": "pg:numeric",
        "changed": "timestamptz",
    }
    mariadb.run("INSERT INTO orders VALUES (2, 1, 1, '2026-01-02'), (3, 1, 1, '2025-01-01')")
    _, rows = read(first.state, method="INCREMENTAL", key="changed")
    assert [row["id"] for row in rows] == [1, 2]
    _, rows = read(method="FULL_TABLE", fields=("amount",))
    assert rows[0] == {"id": 1, "amount": "123456789012345678.90"}


class _Items(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        since = parse_qs(urlsplit(self.path).query).get("since", [""])[0]
        rows = [{"id": n, "price": n / 10, "updated": f"2026-01-0{n}T00:00:00Z"} for n in (1, 2, 3)]
        body = json.dumps([row for row in rows if row["updated"] >= since]).encode()
        refused = self.headers.get("Authorization") != "Bearer hidden-7"
        self.send_response(401 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


def test_a_tap_of_a_web_service_signs_in_and_asks_for_new_rows(folder: TapFolder) -> None:
    install_tap(folder, TapRequest("rest", package="tap-rest-api-msdk==1.4.2"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Items)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stream = {"name": "items", "path": "/items", "primary_keys": ["id"], "replication_key": "updated"}
    stream |= {"records_path": "$[*]", "source_search_field": "since", "source_search_query": "$last_run_date"}
    config = {"api_url": f"http://127.0.0.1:{server.server_port}", "streams": [stream]}
    try:
        read = reading(folder, "rest", {**config, "auth_method": "bearer_token", "bearer_token": "hidden-7"}, "items")
        first, rows = read()
        assert [(row["id"], row["price"]) for row in rows] == [(1, "0.1"), (2, "0.2"), (3, "0.3")]
        _, rows = read(first.state)
        assert [row["id"] for row in rows] == [3]
    finally:
        server.shutdown()
        server.server_close()


def test_a_file_of_requirements_needs_hashes(folder: TapFolder, tmp_path: Path) -> None:
    loose = tmp_path / "loose.txt"
    loose.write_text("jsonref==1.1.0\n")
    with pytest.raises(Terminal) as error:
        install_tap(folder, TapRequest("loose", requirements=loose))
    assert error.value.code == "singer.install_failed"
    assert "hash" in error.value.message.lower()
    assert not list((folder.root / "loose").iterdir())


def test_a_package_without_a_program_is_refused_and_leaves_nothing(folder: TapFolder) -> None:
    with pytest.raises(Terminal) as error:
        install_tap(folder, TapRequest("none", package="jsonref==1.1.0"))
    assert error.value.code == "singer.no_program"
    assert not list((folder.root / "none").iterdir())


def test_requirements_with_hashes_are_installed_and_replaced_while_they_are_used(
    folder: TapFolder, tmp_path: Path
) -> None:
    wheel = _wheel(tmp_path, "tap-tiny")
    locked = tmp_path / "locked.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    locked.write_text(f"{wheel.as_uri()} --hash=sha256:{digest}\n")
    first = install_tap(folder, TapRequest("tiny", requirements=locked))
    assert (first.package, first.executable) == ("tap-tiny==1.0", "tap-tiny")
    with pytest.raises(Terminal) as error:
        install_tap(folder, TapRequest("tiny", requirements=locked))
    assert error.value.code == "singer.tap_exists"
    with folder.used("tiny") as used:
        second = install_tap(folder, TapRequest("tiny", requirements=locked), replaces=True)
        assert folder.build(used).exists()
    assert folder.find("tiny").build == second.build != first.build
    remove_tap(folder, "tiny")
    assert not (folder.root / "tiny").exists()


def _wheel(folder: Path, name: str) -> Path:
    """Build the wheel of a package with one program."""
    source = folder / "source"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        f'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "{name}"\nversion = "1.0"\n[project.scripts]\n{name} = "tiny:main"\n'
        '[tool.setuptools]\npy-modules = ["tiny"]\n'
    )
    (source / "tiny.py").write_text("def main() -> None: ...\n")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))
