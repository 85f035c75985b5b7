"""What a run's report takes from a commit marker, whoever fills it: the attempt that committed, or a later one."""

from __future__ import annotations

from executors.markers import tell
from executors.model import LoadCommit, RunReport
from executors.postgres.load_plan import LoadCounts


def commit(**more: object) -> LoadCommit:
    counts = LoadCounts(1, 1)
    told = {"nodes": [], "rules": [], "checks": [], "tables": []}
    return LoadCommit("run", "load", 1, {"load": counts.to_json(), "node": counts.node_fields(), "told": told, **more})


def test_what_a_replay_did_with_its_rows_is_told_by_its_marker() -> None:
    report = RunReport()
    tell(report, commit(replay={"counts": {"loaded": 1, "fails": 2}}))
    assert report.row_counts == {"loaded": 1, "fails": 2}


def test_a_load_of_files_tells_of_no_rejected_rows() -> None:
    report = RunReport()
    tell(report, commit())
    assert report.row_counts == {}
