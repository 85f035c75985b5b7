"""The order in which files of a source are loaded: which files wait for a failed one, and which arrive too late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from executors.errors import Terminal
from executors.model import FileScan, SourceFile
from executors.ports import LoadUnits
from executors.report import RunWarning
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source

_COMPARED: dict[str, Literal["name", "mtime_ns"]] = {
    "fifo_by_name": "name",
    "lexicographic": "name",
    "latest_by_mtime": "mtime_ns",
}
"""By what a file of an ordering comes before another; where all are simply processed, none does."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Files in their order: those that may be loaded, and those that wait for `blocker`."""

    ready: tuple[SourceFile, ...]
    waiting: tuple[SourceFile, ...] = ()
    blocker: str = ""


def line_up(source: Source, files: Sequence[SourceFile], units: LoadUnits) -> Queue:
    """Return the files that may be loaded in the source's order. Files after a failed one wait until the failed one is
    in the folder again.

    Where files are read in place, a failed file is still in the folder, unless its sender has removed it.
    """
    config = config_of(source, FilesConfig)
    if config.ordering != "fifo_by_name" or not config.moves_files:
        return Queue(tuple(files))
    listed = {file.name for file in files}
    failed = {name for name in units.failed(source.id) if not _is_among(name, listed)}
    if not failed:
        return Queue(tuple(files))
    blocker = min(failed)
    return Queue(
        tuple(file for file in files if file.name < blocker),
        tuple(file for file in files if file.name > blocker),
        blocker,
    )


def _is_among(name: str, listed: Collection[str]) -> bool:
    """Return whether a file is listed, or the archive that contains it."""
    return name in listed or any(str(parent) in listed for parent in PurePosixPath(name).parents)


def held_back(source: Source, queue: Queue) -> RunWarning:
    return RunWarning("file.held_back", source.id, f"{_waits(queue)} {_way_out(queue)}")


def refuse_held_back(source: Source, queue: Queue) -> Terminal:
    return Terminal("source.held_back", _waits(queue), node=source.id, hint=_way_out(queue))


def _waits(queue: Queue) -> str:
    return f"{_counted(queue.waiting)} not loaded: {queue.blocker} comes first and failed (ordering fifo_by_name)."


def _way_out(queue: Queue) -> str:
    return (
        f"Put {queue.blocker} back into the source's folder, corrected or as it is, or leave it out on the Files page, "
        "with a reason."
    )


def warn_of_late(source: Source, scans: Sequence[FileScan], units: LoadUnits) -> list[RunWarning]:
    """Warn of files that are loaded after a file that comes later in the order."""
    compared = _COMPARED.get(config_of(source, FilesConfig).ordering)
    if compared is None:
        return []
    newest = units.newest_loaded(source.id, compared, {scan.sha256 for scan in scans})
    late = [scan.file for scan in scans if newest and getattr(scan.file, compared) < getattr(newest, compared)]
    if newest is None or not late:
        return []
    text = f"{_counted(late)} loaded after {newest.name}, which is newer. Rows may have replaced newer rows."
    return [RunWarning("file.late", source.id, text)]


def _counted(files: Collection[SourceFile]) -> str:
    first, *others = files
    return f"{first.name} and {len(others):,} more were" if others else f"{first.name} was"
