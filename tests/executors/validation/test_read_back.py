"""A rejected row that is stored as JSON is read back unchanged, so that a replay loads the same values."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executors.postgres.reject_reader import row_of
from executors.validation.rows import raw_text, row_texts


def stored_and_read(value: str) -> object:
    """Return the value after it was stored and read back."""
    (text,) = row_texts(pa.record_batch({"a": pa.array([value])}), {"a": "a"})
    row = row_of(text)
    assert isinstance(row, dict)
    return row["a"]


@pytest.mark.parametrize("value", ["x\0\0y", "\0\\", "\\\0\0", "\\0\0", "\\0", "\\\\"])
def test_nul_and_backslash_in_any_order_stay_what_they_are(value):
    assert stored_and_read(value) == value


@given(st.text("\0\\0a", max_size=12))
def test_any_mixture_of_them_does(value):
    assert stored_and_read(value) == value
    assert row_of(raw_text(value)) == value
