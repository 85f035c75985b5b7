"""Where tasks of a load write their rows: one file each, which counts once it is renamed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class JsonlStagingArea:
    folder: Path

    def open(self, schema: pa.Schema, task: int) -> JsonlWriter:
        return JsonlWriter(self.folder / f"{task}.rows")

    def lines(self, tasks: list[int]) -> list[str]:
        """The staged rows of these tasks."""
        files = (self.folder / f"{task}.rows" for task in tasks)
        return [line for file in files if file.exists() for line in file.read_text().splitlines()]


class JsonlWriter:
    """Rejected rows are counted by their task; without a quarantine they are kept nowhere."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: TextIO = path.with_suffix(".part").open("w")

    def __enter__(self) -> JsonlWriter:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._open.close()

    def write_good(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            values = {name: value for name, value in row.items() if not name.startswith("_flow_")}
            self._open.write(json.dumps(values, default=str) + "\n")

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        """Nothing is kept of them."""

    def commit(self) -> None:
        self._open.close()
        os.replace(self._path.with_suffix(".part"), self._path)
