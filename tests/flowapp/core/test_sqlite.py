"""The same tests with SQLite as control database: leases, load units and schedules must not know the difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.db.utils import ConnectionHandler

from flowapp.environment import database_settings

FLOWAPP = Path(__file__).parents[1]
LOAD_UNITS = [
    "core/test_clock.py",
    "runs/test_load_units.py",
    "runs/test_claims.py",
    "runs/test_lost_workers.py",
    "runs/test_attempts.py",
]
"""States of files, the leases that hold them, workers that are lost: `make test` runs them on both databases."""
OTHERS = [
    "accounts",
    "alerts",
    "backfills",
    "backups",
    "channels",
    "cleanup",
    "files",
    "health",
    "lists",
    "pipelines",
    "quarantine",
    "runs",
    "schema_changes",
    "state",
    "tracing",
    "triggers",
    "undos",
    "uploads",
    "watermarks",
]

KILLED = ["runs/test_killed_after_commit.py", "undos/test_killed_undos.py"]
FAST = ["-m", "not slow and not spark"]


def slow(places: list[str], options: list[str], name: str) -> Any:
    return pytest.param(places, options, id=name, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("places", "options"),
    [
        pytest.param(LOAD_UNITS, FAST, id="load units"),
        slow(OTHERS, FAST, "others"),
        # In three sessions, each of which takes some minutes.
        slow(KILLED, ["-k", "after_the_commit and files"], "files killed after the commit"),
        slow(KILLED, ["-k", "after_the_commit and table"], "table killed after the commit"),
        slow(KILLED, ["-k", "not after_the_commit"], "killed otherwise"),
    ],
)
@pytest.mark.skipif(os.environ.get("FLOW_TEST_DATABASE_URL", "").startswith("sqlite"), reason="it is SQLite already")
def test_the_control_plane_works_on_sqlite(tmp_path, server, session_environment, places, options):
    user, password = quote(server.user, safe=""), quote(server.password, safe="")
    environment = session_environment | {
        "FLOW_TEST_DATABASE_URL": f"sqlite:///{tmp_path / 'control.db'}",
        "FLOW_TEST_POSTGRES_URL": f"postgresql://{user}:{password}@{server.host}:{server.port}/{server.database}",
    }
    python, folders = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], [FLOWAPP / p for p in places]
    done = subprocess.run(
        [*python, *options, *map(str, folders)],
        env=environment,
        cwd=FLOWAPP.parents[1],
        capture_output=True,
        text=True,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.django_db
def test_sqlite_writes_ahead_and_waits_for_others(tmp_path):
    connection = ConnectionHandler({"default": database_settings(f"sqlite:///{tmp_path / 'control.db'}")})["default"]
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (20000,)
        assert cursor.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connection.close()
