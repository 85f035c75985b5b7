"""The results of the rows of replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from executors.model import Connection
from executors.postgres import replay_results
from executors.postgres.replay_results import StoredResult
from executors.target_database.session import open_session


@dataclass(frozen=True, slots=True)
class ReplayResults:
    """Some rows of a replay, and the number of all its rows by result."""

    rows: Sequence[StoredResult]
    counts: Mapping[str, int]


def read_replay_results(
    connection: Connection, run_id: str, node: str, *, result: str | None, after: int, limit: int
) -> ReplayResults:
    """Return up to `limit` rows after the position `after`, all or those with one result. Raises Failure."""
    with open_session(connection) as session:
        rows = replay_results.read_results(session, run_id, node, result=result, after=after, limit=limit)
        return ReplayResults(rows, replay_results.count_results(session, run_id, node))
