"""Where tasks stage rows in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from executors.postgres.copy import StageWriter
from executors.postgres.staging import StagingTables, staging_tables
from executors.runs.state import Load
from executors.secrets import decrypt


@dataclass(frozen=True, slots=True)
class PostgresStagingArea:
    """The staging tables of a load; `encrypted_connection` comes from `executors.secrets.encrypt`."""

    tables: StagingTables
    encrypted_connection: str

    def open(self, schema: pa.Schema, task: int) -> StageWriter:
        return StageWriter(decrypt(self.encrypted_connection), self.tables, schema, task)


def tables_of(load: Load) -> StagingTables:
    """Return the staging tables of a load. The attempt that stages its rows has created them."""
    return staging_tables(load.ref.run_id, load.ref.node, load.staged_in)
