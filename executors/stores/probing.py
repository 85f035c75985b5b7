"""Tests a connection to a store: what its key may do, and whether claims are safe."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from uuid import uuid4

from executors.errors import Failure
from executors.model import SourceFile, StoreConnection
from executors.stores import open_store
from executors.stores.base import Entry, RenamingStore, Store, WritableStore
from executors.stores.claims import FOLDER, creates_exclusively

MOST_LISTED = 1000
"""The number of entries in which a test looks for a file to read."""


@dataclass(frozen=True, slots=True)
class StoreProbe:
    """The permissions that were found. `can_read` is None without a file to read. `can_move` means that a file can be
    created only if it does not exist, and be deleted. `notes` say what is missing and why it matters."""

    can_read: bool | None
    can_move: bool
    notes: tuple[str, ...]


def probe_store(connection: StoreConnection) -> StoreProbe:
    """List the root, read one byte of a file, create a small object and delete it. Raises Failure `source.…` if the
    store cannot be listed."""
    store = open_store(connection)
    notes: list[str] = []
    files = _files(store, notes)
    can_read = _reads(store, files, notes)
    return StoreProbe(can_read, _moves(store, notes), tuple(notes))


def _files(store: Store, notes: list[str]) -> list[Entry]:
    try:
        return [entry for entry in islice(store.list(""), MOST_LISTED) if not entry.is_folder]
    except Failure as failure:
        if failure.code != "source.index_unreadable":
            raise
        notes.append(f"{failure.message} Only sources with an index need a list of files.")
        return []


def _reads(store: Store, files: list[Entry], notes: list[str]) -> bool | None:
    # Some stores list without sizes.
    file = next((entry for entry in files if entry.size), None) or (store.stat(files[0].path) if files else None)
    if file is None or not file.size:
        notes.append("There is no file in the root folder, so reading was not tested.")
        return None
    try:
        store.read(file.as_file(file.path), 0, 1)
    except Failure as failure:
        notes.append(f"Files cannot be read: {failure.message}")
        return False
    return True


def _moves(store: Store, notes: list[str]) -> bool:
    try:
        if isinstance(store, WritableStore):
            is_safe = creates_exclusively(store, f"{FOLDER}test/{uuid4()}")
        elif isinstance(store, RenamingStore):
            is_safe = store.moves_exclusively("")
        else:
            return False
        if is_safe:
            return True
        notes.append("The server does not exclude that two runs claim one file, so sources cannot archive files.")
    except Failure as failure:
        notes.append(
            f"Files cannot be written and deleted, which only sources that archive files need: {failure.message}"
        )
    return False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a folder. `after` is the path at which the next page begins; empty on the last one."""

    entries: tuple[Entry, ...]
    after: str


def list_store(connection: StoreConnection, folder: str, after: str, most: int) -> Page:
    """Return at most `most` files and folders of a folder behind the path `after`. Raises Failure `source.…`."""
    found = sorted(islice(open_store(connection).list(folder, after, most), most), key=lambda entry: entry.path)
    shown = tuple(entry for entry in found if f"{entry.name}/" != FOLDER)
    return Page(shown, found[-1].path if len(found) == most else "")


def read_head(connection: StoreConnection, path: str, most: int) -> tuple[SourceFile, bytes] | None:
    """Return a file and its first bytes; None if it does not exist. Raises Failure `source.…`."""
    store = open_store(connection)
    entry = store.stat(path)
    if entry is None:
        return None
    file = entry.as_file(path)
    size = min(most, file.size)
    return file, store.read(file, 0, size) if size else b""
