"""What the settings of a backfill may be on their own."""

from __future__ import annotations

import json

import pytest

from ir.backfill import Backfill
from ir.pointers import ROOT


@pytest.mark.parametrize("window", ["0", "-1", "1e999", "NaN"])
def test_a_window_that_is_no_length_is_refused(window: str) -> None:
    backfill = Backfill.model_validate({"window": json.loads(window)})

    assert [found.code for found in backfill.check(ROOT)] == ["value.out_of_range"]
