"""The part of a run's report that is stored as JSON."""

from __future__ import annotations

import json

import pytest

from executors.effects import KeyMatch, Sample
from executors.report import CheckReport, Effect, HookReport, RunReport, RunWarning
from flowapp.runs.stored_report import StoredReport, check_documents
from ir.errors import FlowError


def make_report() -> RunReport:
    keys = KeyMatch(("id",), new=1, changed=2, same=3, gone=4, columns={"name": 2}, samples=(Sample(("1",), {}),))
    return RunReport(
        checks=[CheckReport("check", "rowCount", True, None, 3, target="load")],
        quarantine_entries=2,
        quarantine_tables=["dlq.t"],
        warnings=[RunWarning("rows.rejected", "check", "2 rows were rejected.")],
        hooks=[HookReport("load.postHook.0", "load", "sql", "postHook", "failed", "SELECT 1", "no", 5)],
        effects=[Effect("load", "public.t", "upsert", False, before=4, inserted=1, updated=2, keys=keys)],
        row_counts={"loaded": 2},
    )


def test_a_report_comes_back_from_json_as_it_was():
    stored = StoredReport.of(make_report())
    assert StoredReport.from_json(json.loads(json.dumps(stored.to_json()))) == stored


def test_no_value_of_a_row_is_stored():
    (effect,) = StoredReport.of(make_report()).effects
    assert effect.keys is not None
    assert effect.keys.samples == ()
    assert effect.to_json() == make_report().effects[0].to_json()


def test_a_report_of_another_version_is_refused():
    with pytest.raises(FlowError, match=r"^stored\.version_unknown: The report of a run has version 9"):
        StoredReport.from_json({**StoredReport().to_json(), "version": 9})


def test_checks_of_several_targets_say_whose_rows_they_saw():
    checks = [CheckReport("check", "rowCount", True, None, 3, target="load")]
    assert "target" not in check_documents(checks)[0]
    checks.append(CheckReport("check", "rowCount", True, None, 5, target="load-u"))
    assert [check["target"] for check in check_documents(checks)] == ["load", "load-u"]
