"""The stored rows of a run over rejected rows."""

from __future__ import annotations

import json

import pytest

from flowapp.quarantine.job_rows import FileHash, JobRows, TableRows
from ir.errors import FlowError

ROWS = JobRows(
    tables=(TableRows("dlq", "orders", (1, 2), (0, 3)),),
    overwrite=("run:row",),
    hashes=(FileHash("run", "a.csv", "ab"),),
    computed_by=("other",),
)


def test_rows_come_back_from_json_as_they_were():
    assert JobRows.from_json(json.loads(json.dumps(ROWS.to_json()))) == ROWS


def test_rows_of_another_version_are_refused():
    with pytest.raises(FlowError, match=r"^stored\.version_unknown: The list of rejected rows of a run has version 2"):
        JobRows.from_json({**ROWS.to_json(), "version": 2})
