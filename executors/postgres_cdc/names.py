"""The names of what Flow uses at the server of a source node."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source


@dataclass(frozen=True, slots=True)
class LogNames:
    """The replication slot and the publication of a source node, whether they exist or not. Flow creates those that the
    document does not name, under the name `own`. `reader` names the sessions that read the slot: it is the same in all
    runs of the node, and no other's."""

    own: str
    slot: str
    publication: str

    @property
    def reader(self) -> str:
        return f"flow reads {self.own}"

    @property
    def owns_slot(self) -> bool:
        return self.slot == self.own

    @property
    def owns_publication(self) -> bool:
        return self.publication == self.own


def names_of(tenant: str, pipeline: str, source: Source) -> LogNames:
    """Return the names of a source node of a pipeline (the id of its document)."""
    config = config_of(source, PostgresCdcConfig)
    digest = hashlib.sha256(f"{tenant}\n{pipeline}\n{source.id}".encode()).hexdigest()[:32]
    own = f"flow_{digest}"
    return LogNames(own, config.slot or own, config.publication or own)
