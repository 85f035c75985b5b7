"""Moves a file within a file system without replacing another, also when several processes compete for it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from executors.errors import Terminal, Transient

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def move_to_first_free(file: Path, candidates: Iterator[Path]) -> Path:
    """Move a file to the first candidate that does not exist, and create its folder.

    Raises Transient if the file is missing and Terminal if the folder is on another file system.
    """
    for candidate in candidates:
        if move_if_free(file, candidate):
            return candidate
    raise AssertionError("candidates never end")


def move_if_free(file: Path, to: Path) -> bool:
    """Move a file unless the destination exists, and create the folder. Return whether it was moved. Raises as
    `move_to_first_free`."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        _move(file, to)
    except FileExistsError:
        return False
    except FileNotFoundError as error:
        raise Transient(
            "source.changed",
            f"{file.name} no longer exists.",
            hint="Something else moved it; the next attempt lists again.",
        ) from error
    except OSError as error:
        raise _refused(file, error) from error
    return True


def second_name(file: Path, below: Path) -> Path | None:
    """Return another name of a file in a folder or its subfolders, which a move that a crash interrupted has left; None
    if there is none."""
    try:
        status = file.lstat()
    except FileNotFoundError:
        return None  # the move reports it
    if status.st_nlink < 2:
        return None
    for folder, _, names in os.walk(below):
        for entry in map(Path(folder).joinpath, names):
            if entry != file and entry.name.startswith(file.stem) and os.path.samestat(entry.lstat(), status):
                return entry
    return None


def take(file: Path, candidates: Iterator[Path]) -> Path | None:
    """Move a file to the first free candidate in a folder that no other process writes to. Return None if the file is
    missing.

    It uses a single rename, so that exactly one of several competing processes gets the file. Raises Terminal as
    `move_to_first_free`.
    """
    to = next(candidate for candidate in candidates if not os.path.lexists(candidate))
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        os.rename(file, to)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(file, error) from error
    return to


def _move(file: Path, to: Path) -> None:
    """Create a second name first, which fails if the destination exists, then remove the old name. After a crash in
    between the file has both names; the next move only removes the old one."""
    try:
        os.link(file, to, follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.EEXIST and _is_second_name(file, to):
            os.unlink(file)
            return
        if error.errno not in _NO_LINKS:
            raise
        if to.exists():
            raise FileExistsError(errno.EEXIST, "exists", str(to)) from error
        os.rename(file, to)
        return
    os.unlink(file)


def _is_second_name(file: Path, to: Path) -> bool:
    """Return whether both are names of one file that has at least two."""
    there = to.lstat()
    return there.st_nlink > 1 and os.path.samestat(file.lstat(), there)


def _refused(file: Path, error: OSError) -> Terminal:
    if error.errno == errno.EXDEV:
        return Terminal(
            "source.folder_elsewhere",
            f"{file.name} cannot be moved because the folder is on another file system.",
            hint="Keep stagingFolder, successFolder and failureFolder on the file system of the source's path.",
        )
    return Terminal(
        "source.not_movable",
        f"{file.name} cannot be moved: {error.strerror}.",
        hint="Give the worker's user write permission on the source's path and folders.",
    )


def in_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield `name`, then the same name in folders `2`, `3` …, so that the name does not change."""
    yield folder / name
    for number in count(2):
        yield folder / str(number) / name


def with_suffix(folder: Path, name: str) -> Iterator[Path]:
    """Yield `a.csv`, `a_2.csv`, `a_3.csv` …"""
    yield folder / name
    stem, suffix = Path(name).stem, Path(name).suffix
    for number in count(2):
        yield folder / f"{stem}_{number}{suffix}"
