"""The violations in the rows of one batch, node by node."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from executors.validation.records import Records

Mask = np.ndarray[Any, np.dtype[np.bool_]]
Severity = Literal["skip", "warn", "abort"]


@dataclass(slots=True)
class Finding:
    """A rule and the rows of the batch that violate it.

    Without `message`, the `_flow_bad` of each row is the message. `evaluated` counts the rows that an explicit rule
    evaluated, `stops` says that violations may end the run, and `own` holds messages of single rows by their index.
    """

    node: str
    rule_id: str
    type: str
    field: str | None
    severity: Severity
    mask: Mask
    message: str | None
    evaluated: int | None = None
    stops: bool = False
    own: dict[int, str] = dataclasses.field(default_factory=dict)


@dataclass(slots=True)
class Findings:
    """`alive` marks the rows that no node has dropped so far. Only those reach the next node. If rows are exploded
    from `records`, all rows of a record are dropped together."""

    alive: Mask
    records: Records | None = None
    all: dict[tuple[str, str], Finding] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        node: str,
        rule_id: str,
        kind: str,
        column: str | None,
        severity: Severity,
        violations: pa.BooleanArray,
        message: str | None,
        own: Mapping[int, str] | None = None,
    ) -> None:
        """Add the violations of an implicit rule among the rows that reached the node. Each rule of a node has one
        finding."""
        if not violations.true_count:
            return
        mask = violations.to_numpy(zero_copy_only=False) & self.alive
        known = self.all.get((node, rule_id))
        if known is not None:
            known.mask |= mask
            known.own.update(own or {})
        elif mask.any():
            self.all[node, rule_id] = Finding(
                node, rule_id, kind, column, severity, mask, message, stops=severity == "abort", own=dict(own or {})
            )

    def add_rule(self, node: str, rule_id: str, rule: Any, mask: Mask, evaluated: int, message: str) -> None:
        """Add an explicit rule, violated or not. `mask` marks rows that reached the node."""
        stops = rule.on_fail == "abort" or rule.has_limit
        finding = Finding(node, rule_id, rule.type, rule.field, rule.on_fail, mask, message, evaluated, stops)
        self.all[node, rule_id] = finding

    def leave(self, node: str) -> None:
        """Drop the rows that the rules of a node drop."""
        drops = [f.mask for f in self.all.values() if f.node == node and f.severity != "warn"]
        doomed = np.logical_or.reduce(drops) & self.alive if drops else None
        if doomed is not None and doomed.any():
            self.dropped[node] = self.dropped.get(node, 0) + self.count(doomed)
            self.alive = self.alive & ~(doomed if self.records is None else self.records.spread(doomed))

    def count(self, mask: Mask) -> int:
        """Return the number of marked rows or, if rows were exploded, of records with a marked row."""
        return int(mask.sum()) if self.records is None else self.records.count(mask)

    def violated(self) -> list[Finding]:
        return [finding for finding in self.all.values() if finding.mask.any()]
