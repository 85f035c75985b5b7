"""Samples of loaded rows."""

from __future__ import annotations

from executors.model import Connection
from executors.postgres import samples
from executors.postgres.quarantined import Owner
from executors.postgres.samples import SampleRow
from executors.target_database.session import open_session


def read_samples(connection: Connection, owner: Owner, node: str) -> list[SampleRow]:
    """Return all samples of a target, the oldest first. Raises Failure."""
    with open_session(connection) as session:
        return samples.read_samples(session, owner.tenant, owner.pipeline, node)
