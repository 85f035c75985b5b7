"""Adds up the counts of one task, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from executors.model import RecordRef, RuleCount, TaskCount
from executors.validation.plan import Evaluated

MOST_REFS = 20


@dataclass(slots=True)
class Tally:
    """The totals of the batches validated so far."""

    arrived: int = 0
    staged: int = 0
    rejected: int = 0
    warned: int = 0
    dropped_at: Counter[str] = field(default_factory=Counter)
    filtered_at: Counter[str] = field(default_factory=Counter)
    matched_at: Counter[str] = field(default_factory=Counter)
    unmatched_at: Counter[str] = field(default_factory=Counter)
    elsewhere_at: Counter[str] = field(default_factory=Counter)
    routed_at: Counter[str] = field(default_factory=Counter)
    grouped_at: Counter[str] = field(default_factory=Counter)
    in_groups: int = 0
    exploded: int = 0
    read: int = 0
    parts: int = 0
    rules: dict[tuple[str, str], RuleCount] = field(default_factory=dict)

    def add(self, evaluated: Evaluated) -> None:
        self.arrived += evaluated.arrived
        self.staged += evaluated.staged
        self.rejected += evaluated.rejected
        self.warned += evaluated.warned
        self.dropped_at.update(evaluated.dropped_at)
        for count in evaluated.rules:
            key = count.node, count.rule_id
            self.rules[key] = add_counts(self.rules[key], count) if key in self.rules else count

    def add_read(self, parts: Sequence[int]) -> None:
        """Add the rows of parts that have been read to the end."""
        self.read += sum(parts)
        self.parts += len(parts)

    def finish(self, task: int) -> TaskCount:
        return TaskCount(
            task,
            self.arrived,
            self.staged,
            self.rejected,
            self.warned,
            tuple(self.rules.values()),
            dict(self.dropped_at),
            dict(self.filtered_at),
            dict(self.matched_at),
            dict(self.unmatched_at),
            self.read,
            self.parts,
            dict(self.elsewhere_at),
            dict(self.routed_at),
            dict(self.grouped_at),
            self.in_groups,
            self.exploded,
        )


def add_counts(one: RuleCount, other: RuleCount) -> RuleCount:
    """Add two counts of one rule. The first positions in source order are retained."""
    first = sorted({*one.first, *other.first}, key=_position)[:MOST_REFS]
    violations, message = one.violations + other.violations, one.message or other.message
    evaluated = None if one.evaluated is None or other.evaluated is None else one.evaluated + other.evaluated
    return replace(one, violations=violations, first=tuple(first), message=message, evaluated=evaluated)


def _position(ref: RecordRef) -> tuple[int, int]:
    return ref.file, ref.record
