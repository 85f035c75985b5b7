"""The report of a run from a commit marker, for the attempt that committed and for a later one."""

from __future__ import annotations

from executors.commit_report import add_commit
from executors.load_record import LoadCommit, LoadCounts, LoadKind, LoadRecord, TableIdentity
from executors.report import RunReport

TABLE = TableIdentity("public", "t", 1)
ONE_ROW = LoadCounts(staged=1, inserted=1)


def test_what_a_replay_did_with_its_rows_is_reported_by_its_marker() -> None:
    report = RunReport()
    record = LoadRecord(row_results={"loaded": 1, "fails": 2})
    add_commit(report, LoadCommit("run", "load", 1, TABLE, kind=LoadKind.REPLAY, counts=ONE_ROW, record=record))
    assert report.row_counts == {"loaded": 1, "fails": 2}


def test_a_load_of_files_reports_of_no_rejected_rows() -> None:
    report = RunReport()
    add_commit(report, LoadCommit("run", "load", 1, TABLE, counts=ONE_ROW))
    assert report.row_counts == {}
