"""The DAG of the documentation, run by Airflow in processes of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from tests.flowapp.backfills.test_whole_way import events, loaded, saved

__all__ = ["events", "saved"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.slow]
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "airflow" / "flow_backfill.py"
AIRFLOW = os.environ.get("FLOW_TEST_AIRFLOW", "")
TWICE = "import flow_backfill\ndag = flow_backfill.flow_backfill()\nfor _ in range(2):\n    dag.test()\n"


@pytest.mark.skipif(not AIRFLOW, reason="FLOW_TEST_AIRFLOW does not name a Python with apache-airflow 3")
def test_the_example_loads_each_chunk_in_a_task_and_then_ends_the_backfill(
    saved, events, process_environment, tmp_path
):
    folder = tmp_path / "dags"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder)
    environment = process_environment | {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder),
        "PATH": f"{Path(AIRFLOW).parent}:{os.environ['PATH']}",
        "FLOW_COMMAND": str(Path(sys.executable).parent / "flow"),
        "FLOW_PIPELINE": saved,
        "FLOW_WORKSPACE": "default",
    }
    subprocess.run([AIRFLOW, "-m", "airflow", "db", "migrate"], env=environment, check=True, timeout=300)
    subprocess.run([AIRFLOW, "-c", TWICE], env=environment, cwd=folder, check=True, timeout=900)
    assert Backfill.objects.get().phase == Phase.STREAMING
    assert set(Chunk.objects.values_list("status", "attempts")) == {(ChunkStatus.DONE, 1)}
    assert loaded(events) == (200, 200)
