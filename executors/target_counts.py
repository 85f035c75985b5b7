"""The counts of each target of a run, and the run's counts for nodes and rules that several targets share.

Targets of one source usually read the same files, and then have the same counts at every shared node. A target that has
already loaded some files reads only the others: the run counts each file once, as far as the counts allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from itertools import combinations
from typing import Any, TypeVar

from executors.model import RuleCount
from executors.report import BranchCount, JoinCount, NodeReport, TargetCounts
from executors.validation.tally import add_counts

K = TypeVar("K")
T = TypeVar("T")
Part = tuple[frozenset[str], T]
_ROWS = [field.name for field in fields(NodeReport) if field.name.startswith("rows_")]


def nodes_of(target_counts: Iterable[TargetCounts]) -> list[NodeReport]:
    """Return one report for each node, in the order of the first target that it leads to."""
    found = _by_key(
        ((target_count.files, node) for target_count in target_counts for node in target_count.nodes),
        lambda node: node.id,
    )
    return [reduce(add_nodes, (node for _, node in _distinct(parts, _size))) for parts in found.values()]


def rules_of(target_counts: Iterable[TargetCounts]) -> list[RuleCount]:
    """Return one count for each node and rule, combined in the same way."""
    found = _by_key(
        ((_input_of(target_count), rule) for target_count in target_counts for rule in target_count.rules), _rule_key
    )
    return [reduce(add_counts, (rule for _, rule in _distinct(parts, _violations))) for parts in found.values()]


def _input_of(target_count: TargetCounts) -> frozenset[str]:
    """Return the input of a target, by file and by the branches of its path: targets of different branches have no row
    in common."""
    taken = sorted(f"{node.id}/{node.taken}" for node in target_count.nodes if node.taken)
    return frozenset(f"{file} {' '.join(taken)}" for file in target_count.files or ("",))


def counted_twice(target_counts: Iterable[TargetCounts]) -> list[str]:
    """Return the nodes whose counts include the rows of some files more than once: their targets read some files in
    common and also different ones, and the counts are not split by file."""
    found = _by_key(
        ((target_count.files, node) for target_count in target_counts for node in target_count.nodes),
        lambda node: node.id,
    )
    return [
        node
        for node, parts in found.items()
        if any(one & other for (one, _), (other, _) in combinations(_distinct(parts, _size), 2))
    ]


def _by_key(parts: Iterable[Part[T]], key: Callable[[T], K]) -> Mapping[K, list[Part[T]]]:
    found: dict[K, list[Part[T]]] = {}
    for files, counted in parts:
        found.setdefault(key(counted), []).append((files, counted))
    return found


def _distinct(parts: Sequence[Part[T]], size: Callable[[T], Any]) -> list[Part[T]]:
    """Return the parts without those whose files are all included in another part, which has counted them already."""
    distinct: list[Part[T]] = []
    for files, counted in sorted(parts, key=lambda part: (len(part[0]), size(part[1])), reverse=True):
        if not any(files <= others for others, _ in distinct):
            distinct.append((files, counted))
    return distinct


def add_nodes(one: NodeReport, other: NodeReport) -> NodeReport:
    """Return the sums of two reports of one node."""
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in _ROWS)
    sums: dict[str, Any] = {name: (a or 0) + (b or 0) for name, a, b in pairs if (a, b) != (None, None)}
    branches = _add_branches(one.branches, other.branches)
    return replace(one, joins=_add_joins(one.joins, other.joins), branches=branches, **sums)


def _add_branches(some: Sequence[BranchCount], others: Sequence[BranchCount]) -> tuple[BranchCount, ...]:
    rows = Counter({branch.to: branch.rows for branch in some})
    for branch in others:
        rows[branch.to] += branch.rows
    return tuple(BranchCount(to, count) for to, count in rows.items())


def _add_joins(some: Sequence[JoinCount], others: Sequence[JoinCount]) -> tuple[JoinCount, ...]:
    known = {join.reference: join for join in others}
    added = [
        replace(join, matched=join.matched + other.matched, unmatched=join.unmatched + other.unmatched)
        for join in some
        if (other := known.pop(join.reference, None)) is not None
    ]
    return (*added, *(join for join in some if join.reference not in {a.reference for a in added}), *known.values())


def _size(node: NodeReport) -> tuple[bool, int]:
    return not node.is_partial, node.rows_in


def _violations(rule: RuleCount) -> int:
    return rule.violations


def _rule_key(rule: RuleCount) -> tuple[str, str]:
    return rule.node, rule.rule_id
