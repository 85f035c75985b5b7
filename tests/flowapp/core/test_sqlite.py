"""The same tests with SQLite as control database: leases, queue and schedules must not know the difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db.utils import ConnectionHandler

from flowapp.environment import database_settings

FLOWAPP = Path(__file__).parents[1]
PLACES = [
    "runs/test_claims.py",
    "runs/test_attempts.py",
    "runs/test_scheduler.py",
    "runs/test_queueing.py",
    "runs/test_load_units.py",
    "files",
    "uploads",
]


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("FLOW_TEST_DATABASE_URL", "").startswith("sqlite"), reason="it is SQLite already")
def test_the_control_plane_works_on_sqlite(tmp_path, server):
    user, password = quote(server.user, safe=""), quote(server.password, safe="")
    environment = os.environ | {
        "FLOW_TEST_DATABASE_URL": f"sqlite:///{tmp_path / 'control.db'}",
        "FLOW_TEST_POSTGRES_URL": f"postgresql://{user}:{password}@{server.host}:{server.port}/{server.database}",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(FLOWAPP / place) for place in PLACES)],
        env=environment,
        cwd=FLOWAPP.parents[1],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.django_db
@pytest.mark.django_db
def test_sqlite_writes_ahead_and_waits_for_others(tmp_path):
    connection = ConnectionHandler({"default": database_settings(f"sqlite:///{tmp_path / 'control.db'}")})["default"]
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert cursor.execute("PRAGMA busy_timeout").fetchone() == (20000,)
        assert cursor.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connection.close()
