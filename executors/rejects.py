"""The columns of a rejected row in the reject stage, and the identity of a row."""

from __future__ import annotations

import hashlib

import pyarrow as pa

REJECT_SCHEMA = pa.schema(
    [
        pa.field("file", pa.int32(), nullable=False),  # position of the file in the source's order
        pa.field("record", pa.int64(), nullable=False),  # 1-based record number in that file
        pa.field("row_id", pa.string(), nullable=False),
        pa.field("node", pa.string(), nullable=False),  # the node whose rule was violated
        pa.field("rule_id", pa.string(), nullable=False),
        pa.field("field", pa.string()),
        pa.field("message", pa.string(), nullable=False),  # what is wrong, without the value
        pa.field("severity", pa.string(), nullable=False),  # skip | warn | abort
        pa.field("disposition", pa.string(), nullable=False),  # dropped | loaded
        pa.field("row", pa.string(), nullable=False),  # a JSON object that jsonb accepts
        pa.field("row_from", pa.string(), nullable=False),  # source | input | group
        pa.field("source_file", pa.string(), nullable=False),
        pa.field("source_node", pa.string(), nullable=False),
    ]
)
"""One row per violated rule of a row. The entries of one row share `row_id`."""


SOURCE, INPUT, GROUP = "source", "input", "group"
"""`row_from`: the row as the source gave it, as it reached the target, or a group that an aggregate has made."""


def row_id(run_id: str, target: str, sha256: str, record: int, source: str = "") -> str:
    """Return 32 hex digits that identify one row of one run and target, the same in every attempt. The source node is a
    part if the target gets the rows of several, which may have the same file."""
    parts = [run_id, target, sha256, str(record), *([source] if source else [])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
