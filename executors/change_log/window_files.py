"""The files of a window: its rows, which Spark's tasks read, and its deletions and incomplete rows, for the load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from executors.change_log.effects import Effects, IncompleteRow, Key
from executors.change_log.lines import cell
from executors.change_log.net_effect import FRAME
from executors.formats.files import BLOCK_BYTES, SPLIT_BYTES


@dataclass(frozen=True, slots=True)
class LinesPart:
    """Lines of a file between two offsets. The lines are framed: see `net_effect.FRAME`."""

    path: str
    start: int
    end: int


def blocks_of(part: LinesPart) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yield the lines of a part and the numbers of their changes, about `BLOCK_BYTES` at a time."""
    with open(part.path, "rb", buffering=BLOCK_BYTES) as file:
        file.seek(part.start)
        at, size = part.start, 0
        lines: list[bytes] = []
        numbers: list[int] = []
        while at < part.end:
            length, number = FRAME.unpack(file.read(FRAME.size))
            lines.append(file.read(length))
            numbers.append(number)
            at += FRAME.size + length
            size += length
            if size >= BLOCK_BYTES:
                yield lines, numbers
                lines, numbers, size = [], [], 0
        if lines:
            yield lines, numbers


class WindowFiles(Effects):
    """Writes the files of a window into a folder. `parts` are those of the rows, in order, and `count` is their number;
    `unchanged` are the positions of columns whose values some rows lack."""

    def __init__(self, folder: Path) -> None:
        self.parts: list[LinesPart] = []
        self.count = 0
        self.unchanged: set[int] = set()
        self.beside = folder / "beside.csv"
        self._rows = folder / "rows"
        self._beside: IO[bytes] = self.beside.open("xb", buffering=1 << 20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._beside.close()

    def rows(self, lines: Iterator[tuple[int, bytes]]) -> None:
        start = at = 0
        with self._rows.open("xb", buffering=1 << 20) as file:
            for number, line in lines:
                file.write(FRAME.pack(len(line), number) + line)
                at += FRAME.size + len(line)
                self.count += 1
                if at - start >= SPLIT_BYTES:
                    self.parts.append(LinesPart(str(self._rows), start, at))
                    start = at
        if at > start:
            self.parts.append(LinesPart(str(self._rows), start, at))

    def delete(self, key: Key) -> None:
        self._beside.write(b",," + b",".join(map(cell, key)) + b"\n")

    def add_incomplete(self, row: IncompleteRow) -> None:
        self.unchanged.update(row.columns)
        columns = ",".join(map(str, row.columns))
        self._beside.write(f'{row.change},"{{{columns}}}",'.encode() + b",".join(map(cell, row.key)) + b"\n")
