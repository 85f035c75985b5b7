"""Refuses to continue a mirror if rows of the target could become different from the source without an error."""

from __future__ import annotations

from collections.abc import Set

from executors.change_log.copies import Copies
from executors.errors import Terminal
from executors.postgres_cdc.slots import Position
from executors.postgres_cdc.state import LogState
from executors.postgres_cdc.tables import FollowedTable


def require_same_source(before: LogState, now: Position, table: FollowedTable) -> None:
    """Refuse to read on in another history of the database, which may have other changes at the same position. Raises
    Terminal `cdc.source_changed`."""
    why = ""
    if before.system != now.system:
        why = "The connection leads to another server than before."
    elif before.timeline != now.timeline:
        why = "The server was restored or a standby took over, so changes may be missing or different."
    elif now.lsn < before.lsn:
        why = "The log of the server ends before the changes that the target has: it was restored."
    elif before.table != table.oid:
        why = f"{table} is another table of the same name now."
    if why:
        raise Terminal(
            "cdc.source_changed",
            f"{why} Nothing was changed.",
            hint="Check the source, then load the table again, with a reason: flow run --load-again.",
        )


def require_target_has(unchanged: Set[str], copies: Copies, table: FollowedTable) -> None:
    """Refuse updates that lack large values of these columns, which have not changed, if the target may not have them,
    or if something before the target needs them. Raises Terminal `cdc.value_missing`."""
    if unchanged and (copies.may_reject or unchanged & copies.used):
        raise Terminal(
            "cdc.value_missing",
            f"An update of {table} lacks a large value that it has not changed, and a transform, a rule or the "
            "rejection of a row needs it.",
            hint=f"ALTER TABLE {table.quoted} REPLICA IDENTITY FULL, then load the table again.",
        )
