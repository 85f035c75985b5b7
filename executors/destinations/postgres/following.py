"""Decides which columns of a table a load changes with those of its sources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from executors.destinations.postgres.opening import key_of
from executors.destinations.postgres.tables import Follow, Followed, unchanged
from executors.errors import Terminal
from executors.model import Destination, SourceField
from executors.postgres import meta
from executors.postgres.ddl import Conn
from executors.postgres.evolution import require_possible, with_statements
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from executors.schema_changes import Arriving, SchemaRefused, compare, decide, evolved, unaccepted
from executors.stage_plan import FILLED, HIDDEN
from ir.load_modes import load_mode
from ir.names import SYSTEM_COLUMNS
from ir.nodes import Source, Target
from ir.schema_policy import SchemaPolicy, strictest

if TYPE_CHECKING:
    from executors.runs.state import RunContext

_NEVER_ADDED = frozenset((*FILLED, *HIDDEN, *SYSTEM_COLUMNS))
"""Names that the plan of the columns refuses."""


@dataclass(frozen=True, slots=True)
class _Sources:
    """The columns of the sources of a target, their policy, and the IDs of the changes that a person has accepted or
    rejected."""

    conn: Conn
    target: Target
    policy: SchemaPolicy
    arriving: Arriving
    accepted: Collection[str] = ()
    rejected: Collection[str] = ()

    def follow(self, dest: Destination) -> Followed:
        if self.policy == "freeze" and not self.accepted:
            return Followed(dest, refusal_of=lambda failure: self._refusal(dest, failure))
        changes = with_statements(self.conn, dest, compare(self.arriving, dest))
        wanted = [change for change in changes if self.policy != "freeze" or change.id in self.accepted]
        require_possible(self.conn, self.target, dest, wanted)
        table = f"{dest.schema}.{dest.table}"
        follows = decide(changes, self.policy, self.accepted, table, self.target.id, self.rejected)
        return Followed(evolved(dest, follows), follows, lambda failure: self._refusal(dest, failure))

    def _refusal(self, dest: Destination, failure: Terminal) -> Terminal:
        """Return the failure of a load that lacks a column in the table, with the change that would add it."""
        if failure.code != "target.column_unknown":
            return failure
        changes = with_statements(self.conn, dest, compare(self.arriving, dest))
        return SchemaRefused(
            failure.code,
            failure.message,
            changes,
            unaccepted(changes, [change for change in changes if change.id in self.accepted]),
            node=self.target.id,
            hint=f"{failure.hint} To let Flow add it, accept it on the page Schema changes.",
        )


def follow_sources(context: RunContext, target: TargetRun, reading: Reading, working: Sequence[SourceField]) -> Follow:
    """Return how the table of a load follows its sources. Replayed rows change no table: they are older than it."""
    if context.job.rows is not None:
        return unchanged
    node, conn, sources = target.path.target, target.connection, _read_sources(target, reading)
    last = meta.last_load(conn, *key_of(context.job, target))
    arriving = Arriving(
        tuple(one for one in working if one.name not in _NEVER_ADDED),
        reading.fields,
        [one for source in sources for one in last.fields_of(source.id)] if last else (),
        frozenset(column.name for source in sources for column in source.columns or ()),
        {new: old for source in target.sources for new, old in (source.renamed or {}).items()},
        (node.upsert_key or ()) if load_mode(node.load_mode).needs_key else (),
    )
    policy = strictest(source.schema_policy for source in target.sources)
    decided = (changes.get(node.id, ()) for changes in (context.job.accepted_changes, context.job.rejected_changes))
    return _Sources(conn, node, policy, arriving, *decided).follow


def _read_sources(target: TargetRun, reading: Reading) -> list[Source]:
    read = {origin.source for origin in reading.origins}
    return [source for source in target.sources if source.id in read or not target.is_united]


def follow_for_rows(source: Source, working: Sequence[SourceField]) -> Follow:
    """Return how a preview of rows sees the table: as a load would leave it that follows all that it can."""
    if source.schema_policy == "freeze":
        return unchanged
    arriving = Arriving(tuple(one for one in working if one.name not in _NEVER_ADDED), renamed=source.renamed or {})

    def follow(dest: Destination) -> Followed:
        changes = [change for change in compare(arriving, dest) if change.alters and not change.why_not]
        return Followed(evolved(dest, changes), tuple(changes))

    return follow
