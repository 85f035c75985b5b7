"""The editor's strip: open rejected rows, and whether there is a new file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.load_units.services import load_again
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.quarantine.keeping import connect_to, keep, save
from tests.flowapp.reading import words
from tests.flowapp.web.conftest import as_

__all__ = ["as_"]
pytestmark = pytest.mark.django_db
NOTHING_NEW = "No new files. Load again…"


@pytest.fixture
def look(as_: Callable[[str], Any]) -> Callable[[Pipeline], str]:
    return lambda pipeline: words(as_("viewer").get(f"/w/alices-team/pipelines/{pipeline.slug}/outlook/"))


def test_open_rejected_rows_are_counted_once_each(workspace, warehouse, schema, look):
    orders = save(connect_to(workspace, warehouse), "orders", f"{schema}.rejected")
    assert "rejected" not in look(orders)
    run = queue_run(orders, Trigger.CLI, send=False)
    for rule, row in (("r1", "row-1"), ("r2", "row-1"), ("r1", "row-2")):
        keep(warehouse, orders, f"{schema}.rejected", rule, run, rowId=row)
    assert "Open rejected rows: 2" in look(orders)


@pytest.fixture
def loaded(pipeline: Pipeline, settings: Any, tmp_path: Path) -> tuple[Run, Path]:
    """A run that has loaded the only file of its source."""
    settings.FILES_ROOT = tmp_path.resolve()
    file = settings.FILES_ROOT / "alices-team" / "in" / "a.csv"
    file.parent.mkdir(parents=True)
    file.write_text("id\n1\n")
    run = queue_run(pipeline, Trigger.CLI, send=False)
    Run.objects.filter(pk=run.pk).update(token=1)
    LoadUnit.objects.create(
        workspace=run.workspace,
        pipeline=pipeline,
        run=run,
        node="files",
        name="in/a.csv",
        state="committed",
        sha256="a" * 64,
        size=file.stat().st_size,
        mtime_ns=file.stat().st_mtime_ns,
        changed_at=timezone.now(),
    )
    return run, file


def test_it_says_that_all_files_are_loaded(loaded, look):
    assert NOTHING_NEW in look(loaded[0].pipeline)


def test_a_new_or_changed_file_is_no_loaded_one(loaded, look):
    run, file = loaded
    (file.parent / "b.csv").write_text("id\n2\n")
    assert NOTHING_NEW not in look(run.pipeline)
    (file.parent / "b.csv").unlink()
    os.utime(file, ns=(1, 1))
    assert NOTHING_NEW not in look(run.pipeline)


def test_a_file_that_is_to_be_loaded_again_is_no_loaded_one(loaded, look):
    run, _ = loaded
    load_again(run.pipeline, "Again.", units=list(LoadUnit.objects.all()))
    assert NOTHING_NEW not in look(run.pipeline)


def test_nothing_is_loaded_after_all_files_are_to_be_loaded_again(loaded, look):
    run, _ = loaded
    Pipeline.objects.filter(pk=run.pipeline_id).update(fence_counter=1)
    load_again(run.pipeline, "All.")
    assert NOTHING_NEW not in look(run.pipeline)
