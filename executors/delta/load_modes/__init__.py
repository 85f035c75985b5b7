"""The load modes of Delta tables, one file each, and their table."""

from __future__ import annotations

from collections.abc import Mapping

from executors.delta.load_modes import add, merge
from executors.delta.plan import LoadMode

LOAD_MODES: Mapping[str, LoadMode] = {
    "append": add.append,
    "truncate": add.replace_all,
    "blue_green": add.replace_all,
    "upsert": merge.upsert,
}

READS_STAGED = frozenset({"upsert"})
"""The modes that read the staged rows; the others add the files of the tasks to the table."""
