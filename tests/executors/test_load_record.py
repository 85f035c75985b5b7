"""The versioned part of a commit marker."""

from __future__ import annotations

import json

import pytest

from executors.errors import Terminal
from executors.load_record import InputCounts, LoadCommit, LoadCounts, LoadRecord, RestoreRecord, TableIdentity
from executors.model import Backup, RuleCount
from executors.report import CheckReport, HookReport, NodeReport

RECORD = LoadRecord(
    input=InputCounts(rows_in=3, rows_read=4, rows_rejected=1),
    nodes=(NodeReport("files", "source", rows_out=4, duration_ms=7),),
    rules=(RuleCount("check", "notNull:id", "notNull", "id", "skip", 1, message="must not be NULL", evaluated=4),),
    checks=(CheckReport("check", "rowCount", True, None, {"rows": 3}, target="load"),),
    hooks=(HookReport("load.preHook.0", "load", "sql", "preHook", "succeeded", "SELECT 1"),),
    statements=("INSERT INTO t SELECT 1",),
    backup=Backup("run", "load", "public", "t", 10),
    superseded_entries=2,
    row_results={"loaded": 1},
    restore=RestoreRecord("run", 10, ("a",), ("b", "c"), ("target other",)),
)


def test_a_record_comes_back_from_json_as_it_was():
    assert LoadRecord.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD


@pytest.mark.parametrize("version", [0, 2, None])
def test_a_record_of_another_version_is_refused(version):
    with pytest.raises(Terminal) as refused:
        LoadRecord.from_json({**RECORD.to_json(), "version": version})
    assert refused.value.code == "stored.version_unknown"
    assert f"has version {version}; this Flow reads version 1" in refused.value.message


def test_the_counts_of_the_target_join_its_input_and_its_load():
    counts = LoadCounts(staged=3, inserted=1, updated=1, replaced=1, below_bound=2)
    commit = LoadCommit("run", "load", 1, TableIdentity("public", "t", 1), counts=counts, record=RECORD)
    assert commit.node_report == NodeReport(
        "load",
        "target",
        rows_in=3,
        rows_out=2,
        rows_read=4,
        rows_rejected=1,
        rows_staged=3,
        rows_replaced=1,
        rows_behind_mark=2,
        rows_suppressed=0,
        rows_loaded=2,
        rows_inserted=1,
        rows_updated=1,
        rows_unchanged=0,
        rows_deleted=0,
    )
