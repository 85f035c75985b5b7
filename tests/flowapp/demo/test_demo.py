"""`flow demo` in a home of its own: its reported numbers equal those of other tools for the file and the tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from flowapp.embedded.home import Home
from flowapp.embedded.locks import is_held
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import warehouse_fields

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.long]

SOURCE = "read_csv('{path}', nullstr = 'NA', all_varchar = false)"
EXPECTED_ROWS = """
SELECT year, month, day, dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay, carrier, flight,
       tailnum, origin, dest AS destination, air_time, distance, hour, minute,
       time_hour AT TIME ZONE 'UTC' AS scheduled_hour, dep_delay / 60 AS delay_hours
FROM flights WHERE year = 2013 AND tailnum IS NOT NULL
"""


@dataclass(frozen=True)
class Machine:
    """A home that contains only what `flow demo` created."""

    home: Path

    def flow(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("FLOW_", "DJANGO_"))}
        script = "import sys; from flowapp.cli import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env={**environment, "FLOW_HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=900,
        )


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A short path outside pytest's folders: root runs the servers as another user, who must be able to access it."""
    home = Path(tempfile.mkdtemp(prefix="flow-demo-"))
    home.chmod(0o711)
    yield Machine(home)
    shutil.rmtree(home)


@pytest.fixture(scope="module")
def first(machine: Machine) -> dict[str, Any]:
    """The output of the first `flow demo`."""
    done = machine.flow("demo", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def flights(machine: Machine, first: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """The source file as view `flights`, read by a tool that shares nothing with us."""
    reader = duckdb.connect()
    path = machine.home / "files" / "default" / "flights" / "flights.csv"
    reader.execute(f"CREATE VIEW flights AS SELECT * FROM {SOURCE.format(path=path)}")
    return reader


@pytest.fixture
def tables(machine: Machine, first: dict[str, Any]) -> Iterator[psycopg.Connection]:
    with Services.start(machine.home, ["postgres"]) as services:
        fields = warehouse_fields(services.addresses, "default")
        with psycopg.connect(dbname=fields.pop("database"), **fields) as connection:
            yield connection


def count(flights: duckdb.DuckDBPyConnection, condition: str = "true") -> int:
    return flights.execute(f"SELECT count(*) FROM flights WHERE {condition}").fetchone()[0]


def test_the_numbers_of_the_run_are_those_of_the_file(first, flights):
    [load] = [node for node in first["nodes"] if node["kind"] == "target"]

    assert first["state"] == "succeeded_with_warnings"
    assert load["rowsRead"] == count(flights) == 336_776
    assert load["rowsFiltered"] == count(flights, "year <> 2013")
    assert load["rowsRejected"] == count(flights, "tailnum IS NULL") == 2_512
    assert load["rowsLoaded"] == load["rowsInserted"] == count(flights, "year = 2013 AND tailnum IS NOT NULL")


def test_every_rule_counts_what_the_file_holds(first, flights):
    counted = {rule["rule"]: rule["violations"] for rule in first["rules"]}

    assert counted["tailnum-known"] == count(flights, "tailnum IS NULL")
    assert counted["distance-plausible"] == count(flights, "distance NOT BETWEEN 50 AND 4000")
    assert counted["minute-is-a-number"] == 0


def test_the_checks_hold(first):
    assert {check["check"]: check["ok"] for check in first["checks"]} == {"rowCount": True, "fkIntegrity": True}


def test_the_table_holds_the_files_rows_value_by_value(flights, tables, tmp_path):
    path = tmp_path / "loaded.csv"
    with path.open("wb") as file, tables.cursor().copy("COPY public.flights TO STDOUT (FORMAT csv, HEADER)") as copy:
        for block in copy:
            file.write(block)
    flights.execute(f"CREATE OR REPLACE VIEW expected AS {EXPECTED_ROWS}")
    flights.execute(f"CREATE OR REPLACE VIEW loaded AS SELECT * FROM read_csv('{path}')")
    names = ", ".join(row[0] for row in flights.execute("DESCRIBE expected").fetchall())

    for one, other in (("expected", "loaded"), ("loaded", "expected")):
        difference = f"SELECT {names} FROM {one} EXCEPT ALL SELECT {names} FROM {other}"
        assert flights.execute(f"SELECT count(*) FROM ({difference})").fetchone() == (0,)


def test_quarantine_holds_the_rejected_rows_as_the_file_gave_them(first, flights, tables):
    rejected = 'SELECT count(*), count(DISTINCT "rowId"), sum(("row"->>\'distance\')::int) FROM dlq.flights'
    found = tables.execute(f'{rejected} WHERE "ruleId" = \'tailnum-known\' AND "runId" = %s', [first["run"]])
    miles = flights.execute("SELECT sum(distance)::bigint FROM flights WHERE tailnum IS NULL").fetchone()[0]

    assert found.fetchone() == (2_512, 2_512, miles)


def test_the_same_rows_are_listed_by_the_command_line(machine, first):
    listed = json.loads(
        machine.flow(
            "errors", "list", "--pipeline", "nyc-flights", "--rule", "tailnum-known", "--limit", "3000", "--json"
        ).stdout
    )["errors"]

    assert len(listed) == 2_512
    assert {(entry["runId"], entry["field"], entry["row"]["tailnum"]) for entry in listed} == {
        (first["run"], "tailnum", None)
    }


@pytest.fixture(scope="module")
def second(machine, first) -> subprocess.CompletedProcess[str]:
    """The output of the second call, before any other run."""
    return machine.flow("demo")


@pytest.mark.slow
def test_a_second_demo_shows_the_first_result(first, second):
    assert second.returncode == 0
    assert f"id {first['run']}" in second.stdout
    assert "read 336,776 = loaded 334,264 + rejected 2,512 + filtered 0" in second.stdout
    assert "flow errors list --pipeline nyc-flights" in second.stdout


@pytest.mark.slow
def test_the_same_file_is_not_loaded_twice(machine, second):
    again = json.loads(machine.flow("run", "nyc-flights", "--json").stdout)

    assert again["state"] == "succeeded"
    assert [node["rowsLoaded"] for node in again["nodes"] if node["kind"] == "target"] == [0]


def test_nothing_that_the_demo_started_is_left(machine, first):
    home = Home(machine.home)

    assert not any(is_held(home.service(name).owner_lock) for name in ("postgres", "redis"))
