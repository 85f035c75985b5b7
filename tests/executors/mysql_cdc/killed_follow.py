"""A process that follows a table and dies at a point: `python -m tests.executors.mysql_cdc.killed_follow`."""

from __future__ import annotations

from executors.model import StoreConnection
from executors.mysql_cdc import log
from executors.sources import mysql_cdc
from tests.executors.change_log.killed import after_calls, before, follow
from tests.executors.mysql_cdc.mirror import Mirror

OWN = {
    "position": lambda: before(log.LogReader, "find_born", after=True),
    "rows": lambda: after_calls(mysql_cdc, "line_of", 50),
}
"""With the position of the first load; after some of its rows."""

if __name__ == "__main__":
    follow(Mirror, StoreConnection, OWN)
