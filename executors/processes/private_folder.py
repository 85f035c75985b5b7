"""The private folder of a running process. It may hold secrets or fill the disk, so what a killed worker leaves is
deleted by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

RUNNING = ".running"
"""The part of a folder with the private folders, each with the file that its worker locks beside it."""


def own_temporary_folder(name: str) -> Path:
    """Return a folder of this user among the temporary files, the same one at each call unless another user has taken
    its name."""
    folder = Path(tempfile.gettempdir(), f"{name}-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder if folder.stat().st_uid == os.getuid() else Path(tempfile.mkdtemp(prefix=f"{name}-"))


@contextmanager
def private_folder(root: Path) -> Iterator[Path]:
    """Create a folder that only this user can read, and delete it at the end."""
    parent = root / RUNNING
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep_private_folders(root)
    path = parent / uuid.uuid4().hex
    with _locked(path.with_suffix(".lock")):
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            _delete(path)


def sweep_private_folders(root: Path) -> int:
    """Delete the folders whose workers have ended; return their number."""
    return sum(map(_delete_abandoned, (root / RUNNING).glob("*.lock")))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a new lock. Another process may delete the file before it is locked; then it is created again."""
    while True:
        with path.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if is_same_file(lock, path):
                yield
                return


def _delete_abandoned(path: Path) -> bool:
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _delete(path.with_suffix(""))
    except (BlockingIOError, FileNotFoundError):
        return False
    return True


def _delete(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.with_suffix(".lock").unlink(missing_ok=True)


def is_same_file(lock: IO[bytes], path: Path) -> bool:
    """Return whether an open file still has this path."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
