"""A file is hashed while it is read."""

from __future__ import annotations

import hashlib
import io
import threading

import pytest

from executors.formats.files import HashedBlocks


def test_the_hash_is_that_of_the_whole_file() -> None:
    blocks = HashedBlocks(io.BytesIO(b"abcdefg"), 2)
    assert b"".join(blocks) == b"abcdefg"
    assert blocks.sha256 == hashlib.sha256(b"abcdefg").hexdigest()


def test_an_abandoned_reading_ends_also_where_no_thread_can_be_waited_for() -> None:
    lock = getattr(threading, "_shutdown_locks_lock", None)
    if lock is None:
        pytest.skip("this Python joins threads without that lock")
    reading = iter(HashedBlocks(io.BytesIO(b"abcdefg"), 2))
    next(reading)

    def collect() -> None:
        with lock:
            reading.close()

    collecting = threading.Thread(target=collect, daemon=True)
    collecting.start()
    collecting.join(5)
    assert not collecting.is_alive()
