"""Small files that expand to very much data: a run ends in bounded memory, with a hint."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Terminal
from executors.runs.sample import sample_pipeline
from tests.executors.conformance.world import World, reconciles, target_of
from tests.executors.formats.bombs import CASES, MB
from tests.executors.formats.test_memory import process

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

MOST_BYTES = 900 * MB


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """Write the bytes of a case once, in a process of its own, because writing takes gigabytes of memory."""
    folder = tmp_path_factory.mktemp("cases")

    @cache
    def write(case: str) -> bytes:
        process("write", case, str(folder / "file"))
        return (folder / "file").read_bytes()

    return write


def memory_of_python_processes() -> dict[int, int]:
    """Return the resident memory of this process and of the Python processes below it, including Spark's workers."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                status = (folder / "status").read_text()
            except OSError:
                continue
            found = dict(re.findall(r"^(Name|PPid|VmRSS):\s*(\S+)", status, re.MULTILINE))
            parents[int(folder.name)] = int(found["PPid"])
            if found["Name"].startswith("python"):
                sizes[int(folder.name)] = int(found.get("VmRSS", 0)) << 10
    return {pid: size for pid, size in sizes.items() if os.getpid() in _line_of(pid, parents)}


def _line_of(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid:
        yield pid
        pid = parents.get(pid, 0)


@contextmanager
def watched() -> Iterator[list[int]]:
    """Measure the growth of the largest of the processes while the block runs."""
    before, grown, stop = memory_of_python_processes(), [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.05):
            now = memory_of_python_processes()
            grown[0] = max(grown[0], *(size - before.get(pid, 100 * MB) for pid, size in now.items()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield grown
    finally:
        stop.set()
        watcher.join()


@pytest.mark.parametrize(
    ("case", "loaded", "rejected"),
    [
        pytest.param("parquet, dictionary", 65_536, 0, marks=pytest.mark.slow),
        pytest.param("parquet, one list", 2, 1, marks=pytest.mark.slow),
        pytest.param("parquet, one text", 2, 1, marks=pytest.mark.slow),
    ],
)
def test_what_can_be_read_is_loaded_and_a_row_that_is_too_large_is_rejected(
    world: World, written: Callable[[str], bytes], case: str, loaded: int, rejected: int
) -> None:
    world.write("a", written(case))
    ops = [{"op": "derive", "columns": {"n": "length(v)"}}, {"op": "select", "columns": ["n"]}]
    with watched() as grown:
        report = world.run(world.document(format="parquet", ops=ops if "list" not in case else []))
    assert (target_of(report).rows_loaded, target_of(report).rows_rejected) == (loaded, rejected)
    assert reconciles(report)
    assert grown[0] < MOST_BYTES, f"{grown[0] / MB:,.0f} MB"


WAYS: dict[str, Callable[[World, dict[str, Any]], object]] = {
    "run": World.run,
    "preview": World.preview,
    "sample": lambda world, document: sample_pipeline(world.job(document), world.memory.ports()),
}


@pytest.mark.parametrize(
    ("case", "way"),
    [
        ("csv, 100,000 columns", "run"),
        *(pytest.param("csv, 100,000 columns", way, marks=pytest.mark.slow) for way in ("preview", "sample")),
        *(pytest.param("parquet, one page", way, marks=pytest.mark.slow) for way in WAYS),
    ],
)
def test_what_cannot_be_read_in_bounded_memory_is_refused_with_the_file_named(
    world: World, written: Callable[[str], bytes], case: str, way: str
) -> None:
    world.write("a", written(case))
    with watched() as grown, pytest.raises(Terminal, match="in/a") as refused:
        WAYS[way](world, world.document(format=CASES[case][0].type))
    assert (refused.value.code, bool(refused.value.hint)) == (CASES[case][2], True)
    assert grown[0] < MOST_BYTES, f"{grown[0] / MB:,.0f} MB"
