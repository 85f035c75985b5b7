"""Unexpected errors in the log."""

from __future__ import annotations

import logging

import pyarrow as pa

from flowapp.logs import log_crash


def test_a_crash_is_logged_with_its_lines_and_without_messages(caplog):
    try:
        try:
            pa.array([" ".join(["row", "value"])]).cast(pa.int32())
        except pa.ArrowInvalid as error:
            raise ValueError(" ".join(["another", "value"])) from error
    except ValueError as error:
        log_crash(logging.getLogger("flowapp.test"), "Run 7 crashed", error)
    assert caplog.text.index("Run 7 crashed") < caplog.text.index("pyarrow.lib.ArrowInvalid")
    assert caplog.text.index("pyarrow.lib.ArrowInvalid") < caplog.text.index("builtins.ValueError")
    assert "test_logs.py" in caplog.text
    assert "row value" not in caplog.text
    assert "another value" not in caplog.text
