"""Stores of files outside this machine: one file for each kind of connection, named by dotted path so that only the
one in use is loaded."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from executors.model import StoreConnection
from executors.secrets import decrypt_store
from executors.stores.base import Store
from ir.kinds import KindTable

STORES: KindTable[str] = KindTable(
    "kind of store",
    (
        ("s3", "executors.stores.s3:open_store"),
        ("sftp", "executors.stores.sftp:open_store"),
        ("gcs", "executors.stores.gcs:open_store"),
        ("azure_blob", "executors.stores.azure_blob:open_store"),
        ("http", "executors.stores.http:open_store"),
    ),
)

MOST_OPEN = 8
"""The number of clients that a process caches."""


def open_store(connection: StoreConnection) -> Store:
    """Return a client of a store; it connects when it is used. Raises Terminal `source.…` for unusable settings."""
    module, _, name = STORES[connection.kind].partition(":")
    store: Store = getattr(import_module(module), name)(connection)
    return store


@lru_cache(MOST_OPEN)
def open_encrypted(encrypted: str) -> Store:
    """Return the client of an encrypted connection (`executors.secrets`), the same one for the same text."""
    return open_store(decrypt_store(encrypted))
