"""Where tasks stage rows in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from executors.postgres.copy import StageWriter
from executors.postgres.staging import StagingTables
from executors.secrets import decrypt


@dataclass(frozen=True, slots=True)
class PostgresStagingArea:
    """The staging tables of a load; `encrypted_connection` comes from `executors.secrets.encrypt`."""

    tables: StagingTables
    encrypted_connection: str

    def open(self, schema: pa.Schema, task: int) -> StageWriter:
        return StageWriter(decrypt(self.encrypted_connection), self.tables, schema, task)
