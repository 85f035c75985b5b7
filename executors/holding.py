"""Checks whether a load stays within the limits of its target, and describes the staged rows of a load that does
not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from executors.effects import Effect, NullRates
from executors.errors import Failure, Terminal
from executors.load_record import SkippedRows
from executors.model import PassResult, SourceField, SourceState, StageColumn
from executors.report import CheckReport
from executors.schema_changes import SchemaChange
from ir.nodes.hold import Hold


@dataclass(frozen=True, slots=True)
class Reason:
    """A limit that a load exceeds: its name in the document, the allowed value and the found value, in percent.

    With the name `approved`, both are numbers of rows or keys: those approved and those found.
    """

    limit: str
    allowed: float
    found: float
    message: str
    column: str | None = None


def check_hold_limits(hold: Hold, effect: Effect, null_rates: Mapping[str, NullRates]) -> list[Reason]:
    """Return the limits that a load exceeds. An empty table has no limits.

    Raises Terminal `hold.key_required` if a limit needs a unique key and the table has none: an unmeasured limit would
    protect nothing.
    """
    return [*_decrease(hold, effect), *_key_loss(hold, effect), *_nulls(hold, null_rates)]


def _decrease(hold: Hold, effect: Effect) -> Iterator[Reason]:
    limit, lost = hold.max_decrease_pct, effect.before - effect.after
    if limit is not None and lost > 0 and (found := 100 * lost / effect.before) > limit:
        text = f"The table would change from {effect.before:,} to {effect.after:,} rows, {found:.1f} % fewer"
        yield Reason("maxDecreasePct", limit, found, f"{text}; {limit:g} % is allowed.")


def _key_loss(hold: Hold, effect: Effect) -> Iterator[Reason]:
    limit = hold.max_key_loss_pct
    if limit is None:
        return
    if (lost := effect.range_deleted - effect.inserted) > 0 and (found := 100 * lost / effect.before) > limit:
        text = f"The range that is loaded again would have {lost:,} rows less, {found:.1f} % of the table"
        yield Reason("maxKeyLossPct", limit, found, f"{text}; {limit:g} % of its keys may be gone.")
    if not effect.deleted:
        return
    if effect.keys is None:
        raise Terminal(
            "hold.key_required",
            f"{effect.table} has no unique key whose columns are all loaded and never NULL, so the number of lost keys "
            "cannot be counted. The target was not loaded.",
            node=effect.node,
            hint="Add a primary key to the table, or remove maxKeyLossPct.",
        )
    if (found := 100 * effect.keys.gone / effect.before) > limit:
        key = ", ".join(effect.keys.key)
        text = f"{effect.keys.gone:,} of {effect.before:,} keys ({key}) would be gone, {found:.1f} %"
        yield Reason("maxKeyLossPct", limit, found, f"{text}; {limit:g} % is allowed.")


def _nulls(hold: Hold, rates: Mapping[str, NullRates]) -> Iterator[Reason]:
    limit = hold.max_null_rate_increase_pct
    if limit is None:
        return
    for column, rate in rates.items():
        if (found := 100 * (rate.staged - rate.before)) > limit:
            text = f"{column!r} is NULL in {100 * rate.staged:.1f} % of the rows to load and"
            message = f"{text} {100 * rate.before:.1f} % of the table; {limit:g} percentage points more are allowed."
            yield Reason("maxNullRateIncreasePct", limit, found, message, column)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result that a person approves: the limits that a load exceeds, and how many rows of the target it deletes or
    changes.

    `keys_deleted` counts the keys that would be missing in the target; it is 0 where the table has no unique key.
    """

    reasons: tuple[Reason, ...]
    rows_deleted: int
    rows_changed: int
    keys_deleted: int

    @classmethod
    def of(cls, reasons: Sequence[Reason], effect: Effect) -> Evaluation:
        keys = effect.keys
        return cls(
            reasons=tuple(reasons),
            rows_deleted=effect.deleted + effect.range_deleted,
            rows_changed=keys.changed if keys else effect.updated,
            keys_deleted=keys.gone if keys and effect.deleted else 0,
        )


def not_approved(approved: Evaluation, now: Evaluation) -> list[Reason]:
    """Return why a load must be approved again: it exceeds a limit by more, or deletes or changes more rows, than
    approved. Return an empty list if it need not."""
    known = {(reason.limit, reason.column): reason.found for reason in approved.reasons}
    more = [reason for reason in now.reasons if reason.found > known.get((reason.limit, reason.column), reason.allowed)]
    counts = list(_larger_counts(approved, now))
    return [*now.reasons, *counts] if more or counts else []


def _larger_counts(approved: Evaluation, now: Evaluation) -> Iterator[Reason]:
    for name, noun in (("rows_deleted", "rows"), ("rows_changed", "rows"), ("keys_deleted", "keys")):
        then, found = getattr(approved, name), getattr(now, name)
        if found > then:
            verb = "change" if name == "rows_changed" else "delete"
            text = f"The table has changed since the approval: the load would {verb} {found:,} {noun}"
            yield Reason("approved", then, found, f"{text}; {then:,} were approved.")


# --- the staged rows of a held load --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StagedLoad:
    """Everything that a later attempt needs to load the staged rows. It contains counts, never values.

    `attempt` is the attempt that staged the rows, `evaluation` the result shown to the approver. `origins` lists what
    was read as (position, name, identity, source node), and `states` holds the states of the source nodes after it.
    `units` are the load units among the origins, which are done once the rows are loaded. `skipped` counts the rows
    removed from staging because they were below the watermark; `watermark` is the id and revision of that watermark, or
    None if there was none. `changes` are the changes of the table's columns that the load makes.
    """

    attempt: int
    working: tuple[SourceField, ...]
    columns: tuple[StageColumn, ...]
    origins: tuple[tuple[int, str, str, str], ...]
    units: tuple[str, ...]
    records: int
    result: PassResult
    checks: tuple[CheckReport, ...]
    skipped: SkippedRows
    evaluation: Evaluation
    watermark: tuple[int, int] | None = None
    changes: tuple[SchemaChange, ...] = ()
    states: Mapping[str, SourceState] = field(default_factory=dict)


class Held(Failure):
    """The load exceeds the target's limits. It stays staged until a person approves or discards it."""

    def __init__(self, node: str, reasons: list[Reason], effect: Effect, staged: StagedLoad) -> None:
        super().__init__(
            "run.held",
            " ".join(reason.message for reason in reasons),
            node=node,
            hint="Approve the run to load the staged rows, or discard them.",
        )
        self.reasons, self.effect, self.staged = reasons, effect, staged
