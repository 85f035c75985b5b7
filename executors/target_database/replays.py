"""What replays did with each of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from executors.model import Connection
from executors.postgres import replay_results
from executors.postgres.replay_results import StoredResult
from executors.target_database.session import open_session


@dataclass(frozen=True, slots=True)
class ReplayResults:
    """Some rows of the list of a replay, and how many the whole list holds of each result."""

    rows: Sequence[StoredResult]
    counts: Mapping[str, int]


def read_replay_results(
    connection: Connection, run_id: str, node: str, *, result: str | None, after: int, limit: int
) -> ReplayResults:
    """Up to `limit` rows behind the place `after`, all or those of one result. Raises Failure."""
    with open_session(connection) as session:
        rows = replay_results.read_results(session, run_id, node, result=result, after=after, limit=limit)
        return ReplayResults(rows, replay_results.count_results(session, run_id, node))
