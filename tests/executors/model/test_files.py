"""Files of sources."""

from __future__ import annotations

from dataclasses import fields, replace

from executors.model import SourceFile


def test_a_file_at_another_position_is_the_same_otherwise() -> None:
    numbers = range(len(fields(SourceFile)))
    file = SourceFile(*numbers)
    assert file.at(9) == replace(file, seq=9)
    assert file.at(file.seq) is file
