"""The files that are moved when a run fails while it reads them. An error in moving never hides the error of the
run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from executors.errors import Terminal
from executors.formats.files import FileStore, sha256_of
from executors.model import FileScan, SourceFile
from executors.sources import file_reader
from executors.sources.file_reader import FileSourceReader
from ir.nodes import Source


class Ports:
    """All ports in one. Stores what is reported about files, and ignores everything else."""

    def __init__(self) -> None:
        self.events = self.units = self.cancellation = self
        self.reported: list[str] = []

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None:
        self.reported += [file.name for file in files.values()]

    def arrived_whole(self, files: Sequence[SourceFile]) -> Sequence[str]:
        return ()

    def step(self, name: str, node: str | None = None) -> None: ...

    def check(self) -> None: ...


def refuse(source: Source, files: Sequence[SourceFile], store: FileStore) -> list[FileScan]:
    raise Terminal("source.unreadable", "in/a.csv cannot be read: Permission denied.")


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(file: SourceFile, store: FileStore) -> str:
        if file.name == "in/a.csv":
            raise Terminal("source.unreadable", "in/a.csv cannot be read: Permission denied.")
        return sha256_of(file, store)

    (tmp_path / "in").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "in" / name).write_text("id\n1\n")
    monkeypatch.setattr(file_reader, "sha256_of", hashed)
    config = {
        "path": "in",
        "pattern": {"type": "glob", "value": "*"},
        "format": {"type": "csv"},
        "waitPolicy": {"settleSeconds": 0},
    }
    source = Source(id="src", kind="source", connector="local_fs", config=config)
    pipeline = SimpleNamespace(id="orders", targets=lambda: [], error_handling=SimpleNamespace(max_minutes=1))
    own: dict[str, Any] = {"connections": {}, "stores": {}, "waited": None, "run_id": "run", "token": 1, "tenant": "a"}
    job: Any = SimpleNamespace(files_folder=tmp_path, taps=tmp_path, pipeline=pipeline, **own)
    ports: Any = Ports()
    reader, target_run = FileSourceReader(job, ports, refuse), SimpleNamespace(path=SimpleNamespace(source=source))
    with pytest.raises(Terminal, match=r"source\.unreadable"):
        reader.read(source, target_run, [])  # type: ignore[arg-type]
    reader.archive_failed(source, "It cannot be read.")
    assert ports.reported == ["in/b.csv"]
