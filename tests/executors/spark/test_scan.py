"""The distribution of files to tasks does not change the result of a scan."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from executors.spark import scan
from executors.spark.session import RunSession
from tests.executors.spark.passes import scan_paths
from tests.executors.spark.paths import make_path


def test_files_that_share_tasks_are_scanned_each(
    run_session: RunSession, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"{number}.csv" for number in range(7)]
    for number, file in enumerate(files):
        file.write_text("id\n" + "1\n" * number)
    in_one_task = scan_paths(run_session, make_path(), files)
    monkeypatch.setattr(scan, "BYTES_PER_TASK", 10)
    monkeypatch.setattr(scan, "MOST_TASKS", 3)
    assert scan_paths(run_session, make_path(), files) == in_one_task
    assert [found.records for found in in_one_task] == list(range(7))
