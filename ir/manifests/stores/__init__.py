"""The kinds of connections to stores of files, one file each, and their table."""

from __future__ import annotations

from ir.kinds import KindTable
from ir.manifests.stores.base import DeclaredStore
from ir.manifests.stores.s3 import DeclaredS3

_KINDS: tuple[type[DeclaredStore], ...] = (DeclaredS3,)
STORE_KINDS: KindTable[type[DeclaredStore]] = KindTable("kind of store", ((kind.name(), kind) for kind in _KINDS))
