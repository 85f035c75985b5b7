"""Rows of small files are read from the copies that the scan has written, if these are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import pytest

from executors.errors import Transient
from executors.formats import FORMATS, copies
from executors.formats.copies import CopyWriter
from executors.formats.files import LOCAL_FILES
from executors.formats.small_files import read_scanned
from executors.model import SourceFile, Split
from ir.formats import Csv
from tests.executors.formats.conftest import FileReader

CSV = Csv(type="csv")
CONTENTS = [b"n\n%d\n" % number for number in range(5)]


@dataclass
class Requested:
    """A store over a network, with the names of the files that were requested."""

    waits: ClassVar[bool] = True
    names: list[str] = field(default_factory=list)

    def open(self, file: SourceFile) -> Any:
        self.names.append(file.name)
        return LOCAL_FILES.open(file)


@pytest.fixture
def store() -> Requested:
    return Requested()


def copied(folder: Path, contents: Sequence[bytes] = CONTENTS) -> list[Split]:
    """Write files, scan them, and return their splits with copies."""
    reader, found = FileReader(folder), []
    (folder / "copies").mkdir()
    with CopyWriter(str(folder / "copies")) as writer:
        for number, content in enumerate(contents):
            (split,) = FORMATS["csv"].scan(reader.file(content, f"{number}", number), CSV).splits
            found.append(replace(split, copy=writer.add(content)))
    return found


def read(splits: Sequence[Split], store: Requested) -> list[bytes]:
    return [one.data for one in read_scanned(splits, store)]


def test_copied_files_are_not_requested_again(tmp_path: Path, store: Requested) -> None:
    assert read(copied(tmp_path), store) == CONTENTS
    assert store.names == []


def test_files_without_a_copy_are_requested_in_their_place(tmp_path: Path, store: Requested) -> None:
    splits = [replace(split, copy=None) if split.file.name in "13" else split for split in copied(tmp_path)]
    assert read(splits, store) == CONTENTS
    assert store.names == ["1", "3"]


def test_a_replaced_file_has_the_rows_that_were_hashed(tmp_path: Path, store: Requested) -> None:
    splits = copied(tmp_path)
    Path(splits[2].file.path).write_bytes(b"n\n9\n")
    assert read(splits, store) == CONTENTS


@pytest.mark.parametrize("damage", [b"", CONTENTS[0] + b"n\n9\n" + b"".join(CONTENTS[2:])], ids=["empty", "other"])
def test_files_with_damaged_copies_are_requested(tmp_path: Path, store: Requested, damage: bytes) -> None:
    splits = copied(tmp_path)
    (copy,) = (tmp_path / "copies").iterdir()
    copy.write_bytes(damage)
    assert read(splits, store) == CONTENTS
    assert store.names == (["1"] if damage else ["0", "1", "2", "3", "4"])


def test_another_machine_requests_all_files(tmp_path: Path, store: Requested) -> None:
    splits = copied(tmp_path)
    (tmp_path / "copies").rename(tmp_path / "of another machine")
    assert read(splits, store) == CONTENTS
    assert len(store.names) == 5


def test_a_replaced_file_without_a_copy_is_found(tmp_path: Path, store: Requested) -> None:
    split = replace(copied(tmp_path)[2], copy=None)
    Path(split.file.path).write_bytes(b"n\n22\n")
    with pytest.raises(Transient, match=r"source\.changed"):
        read([split], store)


def test_a_task_copies_a_limited_number_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "COPIED_BYTES", 9)
    assert [split.copy is not None for split in copied(tmp_path)] == [True, True, False, False, False]
    (copy,) = (tmp_path / "copies").iterdir()
    assert copy.read_bytes() == b"".join(CONTENTS[:2])


def test_a_folder_that_cannot_be_written_holds_no_copies(tmp_path: Path) -> None:
    with CopyWriter(str(tmp_path / "missing")) as writer:
        assert writer.add(b"x") is None


class Full:
    """A file on a disk that has no more space after its first bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        return self._file.write(data[:2])

    def close(self) -> None:
        self._file.close()


def test_a_full_disk_ends_the_copies(tmp_path: Path) -> None:
    with CopyWriter(str(tmp_path)) as writer:
        first = writer.add(b"abc")
        assert writer._file is not None
        writer._file = Full(writer._file)  # type: ignore[assignment]
        assert (first is not None, writer.add(b"def"), writer.add(b"ghi")) == (True, None, None)
