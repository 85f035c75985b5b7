"""Read and write the files of a project in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ir.errors import FlowError
from ir.limits import MAX_BYTES
from ir.manifests.project import FOLDER, PROJECT_FILE, SOURCES
from ir.manifests.reading import is_project_file


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the files of a project by their names relative to its folder. Raises FlowError `file.unreadable`."""
    if not folder.is_dir():
        raise _unreadable(folder, "there is no such folder")
    below = (f"{part}/{path.name}" for part in (FOLDER, SOURCES) for path in sorted((folder / part).glob("*")))
    names = [PROJECT_FILE, *below]
    return {name: _read(folder / name) for name in names if is_project_file(name) and (folder / name).is_file()}


FolderState = frozenset[tuple[object, ...]]


def folder_state(folder: Path) -> FolderState:
    """Return a state that changes when files of a project change. No file is read."""
    return frozenset(
        entry
        for part, prefix in ((folder, ""), (folder / FOLDER, f"{FOLDER}/"), (folder / SOURCES, f"{SOURCES}/"))
        for entry in _list_states(part, prefix)
    )


def _list_states(part: Path, prefix: str) -> Iterator[tuple[object, ...]]:
    with suppress(OSError), os.scandir(part) as entries:
        for entry in entries:
            if is_project_file(prefix + entry.name):
                with suppress(OSError):  # The file is gone again.
                    found = entry.stat()
                    # A file that is replaced by an older one has another inode and another time of change.
                    yield entry.name, prefix, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path) -> bytes:
    """Return the content; of a file that is too large, one byte more than the limit."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, (error.strerror or type(error).__name__).lower()) from None


def write_folder(folder: Path, texts: Mapping[str, str | None]) -> None:
    """Write each file atomically, and remove those whose text is None. Raises FlowError `file.unwritable`."""
    for name, text in texts.items():
        path = folder / name
        try:
            if text is None:
                path.unlink(missing_ok=True)
            else:
                _write(path, text)
        except OSError as error:
            raise FlowError(
                "file.unwritable",
                f"{path} cannot be written: {(error.strerror or type(error).__name__).lower()}.",
                hint="Use a folder that you can write to. What was written before stays; run the command again.",
            ) from None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8", newline="") as draft:
        draft.write(text)
    os.chmod(draft.name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
    os.replace(draft.name, path)


def _unreadable(path: Path, why: str) -> FlowError:
    return FlowError("file.unreadable", f"{path} cannot be read: {why}.", hint="Check the path and its permissions.")
