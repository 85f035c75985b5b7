"""Held loads with the real engine: the effect of approving and discarding."""

from __future__ import annotations

import pytest

from executors.postgres.client import connect
from flowapp.runs.dispatch import execute_claimed, run_inline
from flowapp.runs.holds import Decider, approve_run, discard_run
from flowapp.runs.janitor import sweep_staging
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import CommitRecord, Run, State
from flowapp.runs.services import cancel_run
from tests.flowapp.conftest import make_document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.usefixtures("sent")]

ALICE = Decider("alice@example.com")
FOLDERS = {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}


@pytest.fixture
def folder(settings, tmp_path, connected):
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / connected.slug / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n")
    return folder


@pytest.fixture
def held(save, schema, target, folder, warehouse) -> Run:
    """Two rows that are to take the place of ten."""
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"INSERT INTO {schema}.numbers SELECT generate_series(1, 10)")
    nodes = make_document(schema=schema)["nodes"]
    nodes[0]["config"]["atomicity"] = FOLDERS
    nodes[1] |= {"loadMode": "truncate", "hold": {"maxDecreasePct": 50}}
    return run_inline(save(nodes=nodes).pipeline)


@pytest.fixture
def staged(warehouse):
    """Counts the staging tables of a run."""

    def count(run: Run) -> int:
        query = (
            "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = 'flow_staging' AND obj_description(c.oid, 'pg_class')::json->>'run' = %s"
        )
        with connect(warehouse, autocommit=True) as conn:
            return conn.execute(query, [str(run.pk)]).fetchone()[0]

    return count


def test_it_waits_with_everything_in_place(held, target, folder, staged):
    assert (held.state, target(), staged(held)) == (State.HELD, 10, 2)
    assert list(folder.glob(".doing/*/a.csv"))
    assert LoadUnit.objects.get().state == "processing"
    sweep_staging()
    assert staged(held) == 2


def test_approved_a_worker_loads_it(held, target, folder, staged):
    approve_run(held, ALICE)
    (folder / "b.csv").write_text("id\n3\n")
    execute_claimed(claim_run(held.pk, "another worker"))
    held.refresh_from_db()
    assert (held.state, target(), staged(held)) == (State.SUCCEEDED, 2, 0)
    assert CommitRecord.objects.get().attempt == 2
    assert LoadUnit.objects.get().state == "committed"
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["b.csv"]
    assert (folder / ".done/a.csv").exists()


def test_discarded_nothing_of_it_is_left(held, target, folder, staged):
    discard_run(held, ALICE, "Half of the file is missing.")
    assert (target(), staged(held)) == (10, 0)
    assert (folder / ".failed/a.csv").exists()
    unit = LoadUnit.objects.get()
    assert (unit.state, "Half of the file is missing." in unit.reason) == ("failed", True)
    assert not CommitRecord.objects.exists()


def test_the_next_run_starts_once_it_is_discarded(held, target, folder):
    discard_run(held, ALICE, "Half of the file is missing.")
    (folder / "a.csv").write_text("id\n" + "".join(f"{n}\n" for n in range(8)))
    assert run_inline(held.pipeline).state == State.SUCCEEDED
    assert target() == 8


def test_approved_and_cancelled_nothing_of_it_is_left(held, target, folder, staged):
    approve_run(held, ALICE)
    assert cancel_run(held).state == State.CANCELLED
    assert (target(), staged(held)) == (10, 0)
    assert LoadUnit.objects.get().state == "pending"


def test_who_discards_does_not_wait_until_files_are_hashed(held, folder, monkeypatch):
    def read_a_large_file(store, file):
        raise AssertionError("a claimed file is read in the request of who discards its load")

    monkeypatch.setattr("executors.formats.files.LocalFiles.open", read_a_large_file)
    other = next(folder.glob(".doing/*")) / "c.csv"
    other.write_text("id\n1\n2\n")
    discard_run(held, ALICE, "Half of the file is missing.")
    assert (folder / ".failed/a.csv").exists()
    assert other.exists()


def test_a_table_that_has_changed_since_the_approval_is_decided_about_again(held, target, staged, warehouse, schema):
    approve_run(held, ALICE)
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"INSERT INTO {schema}.numbers SELECT generate_series(11, 100)")
    execute_claimed(claim_run(held.pk, "a worker"))
    held.refresh_from_db()
    assert (held.state, target(), staged(held)) == (State.HELD, 100, 2)
    assert "100 rows; 10 were approved" in held.error_message
    sweep_staging()
    assert staged(held) == 2
    approve_run(held, Decider("bob@example.com"))
    execute_claimed(claim_run(held.pk, "a worker"))
    held.refresh_from_db()
    assert (held.state, target(), staged(held)) == (State.SUCCEEDED, 2, 0)


def test_discarded_when_it_is_held_again_nothing_of_it_is_left(held, target, staged, warehouse, schema):
    approve_run(held, ALICE)
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"INSERT INTO {schema}.numbers SELECT generate_series(11, 100)")
    execute_claimed(claim_run(held.pk, "a worker"))
    discard_run(held, ALICE, "The table is in use.")
    assert (target(), staged(held)) == (100, 0)
