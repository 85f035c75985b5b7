"""Queries of users on database files have limits of time, memory and disk, whatever they compute."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest

from executors.database_files.session import EngineCall, EngineSession, open_file
from executors.errors import Failure, Terminal, Transient
from ir.file_queries import Grammar
from tests.executors.database_files.reading import read, source_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.sqlite") as conn:
        conn.execute("CREATE TABLE t (id int)")
        conn.execute("INSERT INTO t VALUES (1)")
    conn.close()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS id")
    return tmp_path


def query(grammar: Grammar, text: str) -> dict[str, Any]:
    return {"path": f"shop.{grammar}", "query": text}


def call(folder: Path, grammar: Grammar, seconds: float = 60) -> EngineCall:
    return EngineCall(grammar, folder / f"shop.{grammar}", seconds)


def memory_of_this_process() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("grammar", "text", "code"),
    [
        ("duckdb", "SELECT repeat('x', 3000000000) AS x FROM t", "source.query_memory_limit"),
        ("duckdb", "SELECT list_sum(range(1000000000)) AS x FROM t", "source.query_memory_limit"),
        ("duckdb", "SELECT repeat('x', 100000000) AS x FROM t", "source.expands_too_much"),
        ("sqlite", "SELECT hex(zeroblob(400000000)) AS x FROM t", "source.query_memory_limit"),
        pytest.param(
            "sqlite",
            "SELECT hex(randomblob(1000000000)) AS x FROM t",
            "source.expands_too_much",
            marks=pytest.mark.slow,
        ),
        ("sqlite", "SELECT printf('%.*c', 1000000000, 'x') AS x FROM t", "query.not_allowed"),
        ("sqlite", "SELECT format('%1000000000d', id) AS x FROM t", "query.not_allowed"),
        ("sqlite", "SELECT hex(zeroblob(20000000)) AS x, hex(zeroblob(20000000)) AS y", "source.expands_too_much"),
    ],
)
def test_a_query_over_the_memory_limit_fails_and_says_so(folder: Path, grammar: Grammar, text: str, code: str) -> None:
    before = memory_of_this_process()
    with pytest.raises(Failure) as failed:
        read(folder, grammar, query(grammar, text))
    assert (failed.value.code, failed.value.node) == (code, "src")
    assert memory_of_this_process() - before < 200 << 20


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("sqlite", "SELECT instr(zeroblob(30000000), zeroblob(15000000) || x'01') AS x FROM t"),
        ("sqlite", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c"),
        ("duckdb", "SELECT levenshtein(repeat('x', 200000), repeat('y', 200000)) AS x FROM t"),
        ("duckdb", "SELECT count(*) AS n FROM range(100000) a, range(100000) b WHERE hash(a.range, b.range) = 3"),
    ],
)
def test_a_query_over_the_time_limit_is_killed(folder: Path, grammar: Grammar, text: str) -> None:
    started = time.monotonic()
    with pytest.raises(Terminal) as failed:
        read(folder, grammar, query(grammar, text), most_seconds=1.5)
    assert (failed.value.code, failed.value.node) == ("source.query_time_limit", "src")
    assert "errorHandling.maxMinutes" in failed.value.hint
    assert time.monotonic() - started < 20


def endless(grammar: Grammar) -> str:
    if grammar == "sqlite":
        return "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    return "SELECT range::varchar AS x FROM range(10000000000)"


@pytest.mark.parametrize("grammar", ["sqlite", "duckdb"])
def test_the_time_limit_ends_a_query_whose_first_rows_were_read(folder: Path, grammar: Grammar) -> None:
    with open_file(call(folder, grammar, seconds=2)) as session:
        columns = session.columns(f"{endless(grammar)} LIMIT 1" if grammar == "duckdb" else "SELECT id AS x FROM t")
        batches = session.rows(endless(grammar), columns)
        assert next(batches).size
        with pytest.raises(Failure) as failed:
            sum(batch.size for batch in batches)
    assert failed.value.code == "source.query_time_limit"


@pytest.mark.parametrize("grammar", ["sqlite", "duckdb"])
def test_an_interruption_ends_reading_and_the_process(folder: Path, grammar: Grammar) -> None:
    with open_file(call(folder, grammar)) as session:
        columns = session.columns("SELECT id AS x FROM t")
        timer = threading.Timer(0.5, session.interrupt)
        timer.start()
        with pytest.raises(Transient) as failed:
            sum(batch.size for batch in session.rows(endless(grammar), columns))
        timer.join()
    assert failed.value.code == "source.cancelled"


def test_a_source_that_is_interrupted_before_it_is_open_does_not_read(folder: Path) -> None:
    source = source_of(folder, "duckdb", query("duckdb", "SELECT id FROM t"))
    source.interrupt()
    with ExitStack() as stack, pytest.raises(Failure) as failed:
        source.open(stack)
    assert failed.value.code == "source.cancelled"


def engine_of(session: EngineSession) -> int:
    return session._process._popen.pid


@pytest.mark.parametrize("sent", [signal.SIGSEGV, signal.SIGKILL])
def test_rows_of_an_engine_that_ends_early_are_never_taken_for_all(folder: Path, sent: signal.Signals) -> None:
    with open_file(call(folder, "sqlite")) as session:
        columns = session.columns("SELECT id AS x FROM t")
        batches = session.rows(endless("sqlite"), columns)
        next(batches)
        os.kill(engine_of(session), sent)
        with pytest.raises(Failure) as failed:
            sum(batch.size for batch in batches)
    assert failed.value.code == "source.engine_failed"
    assert isinstance(failed.value, Transient) == (sent is signal.SIGKILL)
    assert sent.name in failed.value.message


def test_an_engine_ends_with_its_reader_and_leaves_no_files(folder: Path) -> None:
    with open_file(call(folder, "duckdb")) as session:
        private = Path(os.readlink(f"/proc/{engine_of(session)}/cwd"))
        assert private.is_dir()
        pid = engine_of(session)
    assert not private.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_engine_has_none_of_this_process_variables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_SECRET_KEY", "hidden-7")
    with open_file(call(folder, "sqlite")) as session:
        variables = Path(f"/proc/{engine_of(session)}/environ").read_bytes()
    assert b"TMPDIR" in variables
    assert b"hidden-7" not in variables


def test_large_rows_arrive_in_batches_of_bounded_size(folder: Path) -> None:
    text = "SELECT range AS id, repeat('x', 500000) AS x FROM range(40)"
    with open_file(call(folder, "duckdb")) as session:
        batches = list(session.rows("SELECT range::varchar, repeat('x', 500000) FROM range(40)", session.columns(text)))
    assert sum(batch.size for batch in batches) == 40
    assert max(sum(array.nbytes for array in batch.arrays) for batch in batches) < 3 << 20


def test_an_engine_is_killed_with_its_reader_and_its_files_are_deleted_by_the_next(folder: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from executors.database_files.session import EngineCall, open_file\n"
        "with open_file(EngineCall('sqlite', Path(sys.argv[1]), 60)) as session:\n"
        "    print(session._process._popen.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder / "shop.sqlite")], stdout=subprocess.PIPE) as reader:
        assert reader.stdout
        pid = int(reader.stdout.readline())
        private = Path(os.readlink(f"/proc/{pid}/cwd"))
        reader.kill()
    deadline = time.monotonic() + 10
    while (status := Path(f"/proc/{pid}/stat")).exists() and status.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with open_file(call(folder, "sqlite")):
        assert not private.exists()
