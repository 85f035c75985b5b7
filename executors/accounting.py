"""Computes the numbers of the run report from task counts, and checks that they add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from executors.errors import InvalidContent, Terminal
from executors.model import PassResult, RecordRef, RuleCount, branch_key, join_key
from executors.reading import Reading
from executors.report import BranchCount, JoinCount, NodeReport, RunWarning
from executors.target_counts import add_nodes
from executors.validation.tally import add_counts
from ir.nodes import Source, Transform, Validate
from ir.nodes.branch import Take, taken_of
from ir.pipeline import Path
from ir.pointers import ROOT
from ir.rules import rule_id
from ir.words import counted


def planned_rules(path: Path) -> list[RuleCount]:
    """Return every explicit rule of the path with a count of zero, in the order of the document."""
    return [
        RuleCount(validate.id, rule_id(rule), rule.type, rule.field, rule.on_fail, 0, evaluated=0)
        for validate in path.validates
        for rule in validate.row_level
    ]


def merge_rules(planned: Sequence[RuleCount], found: Sequence[RuleCount]) -> list[RuleCount]:
    """Return one count per node and rule: first the planned rules, zeros included, then implicit rules that were
    violated."""
    merged: dict[tuple[str, str], RuleCount] = {}
    for count in (*planned, *found):
        key = count.node, count.rule_id
        merged[key] = add_counts(merged[key], count) if key in merged else count
    return list(merged.values())


def rows_read(result: PassResult) -> int:
    """Return how many rows became what the tasks have counted."""
    left = [result.at_nodes(name).total() for name in ("filtered_at", "elsewhere_at", "grouped_at")]
    return result.total("rows_arrived") + sum(left) - result.total("rows_exploded")


def require_all_arrived(path: Path, reading: Reading, result: PassResult) -> int:
    """Return how many rows were read. Raises Terminal `rows.lost` unless every row was filtered or validated."""
    read = reading.records if reading.records is not None else _read_by_tasks(path, reading, result)
    arrived, filtered = result.total("rows_arrived"), result.at_nodes("filtered_at").total()
    elsewhere, grouped = result.at_nodes("elsewhere_at").total(), result.at_nodes("grouped_at").total()
    exploded = result.total("rows_exploded")
    if read + exploded != arrived + filtered + elsewhere + grouped or grouped != result.total("in_groups"):
        raise Terminal(
            "rows.lost",
            f"{counted(read, 'row')} read and {exploded:,} added by explode; {arrived:,} arrived, {filtered:,} were "
            f"filtered, {elsewhere:,} went to other branches and {grouped:,} into groups.",
            node=path.source.id,
            hint="The target was not loaded. Please report this with the kind and size of the source.",
        )
    return read


def _read_by_tasks(path: Path, reading: Reading, result: PassResult) -> int:
    parts = result.total("parts_read")
    if parts != len(reading.parts):
        raise Terminal(
            "rows.lost",
            f"{parts:,} of {len(reading.parts):,} parts of the source were read completely.",
            node=path.source.id,
            hint="The target was not loaded. Please report this with the kind and size of the source.",
        )
    return result.total("rows_read")


def stop_on_abort(path: Path, rules: Sequence[RuleCount], names: Mapping[int, str]) -> None:
    """Raise Terminal for violated abort rules (`rule.abort`) and for rules violated beyond their limit (`rule.limit`).
    `names` maps a file's position in the source's order to its name."""
    excesses = [(rule, excess) for rule in rules if (excess := _excess(path, rule)) is not None]
    if not excesses:
        return
    texts = [
        f"{_rule_text(rule)}{_why(rule)} failed on {counted(rule.violations, 'row')}{excess}"
        f" ({describe_positions(rule.first, names)})"
        for rule, excess in excesses
    ]
    first = next((rule for rule, _ in excesses if rule.on_fail == "abort"), excesses[0][0])
    raise InvalidContent(
        "rule.abort" if first.on_fail == "abort" else "rule.limit",
        f"{'; '.join(texts)}. The target was not loaded.",
        node=first.node,
        hint=" ".join(dict.fromkeys(_hint(path, rule) for rule, _ in excesses)),
    )


def _hint(path: Path, rule: RuleCount) -> str:
    is_refused = rule.node == path.target.id and rule.on_fail == "abort" and rule.type not in _OF_VALUES
    return _OF_RECORDS if path.explode and is_refused else _HINTS.get(rule.type, _ADVICE[rule.on_fail])


_OF_VALUES = frozenset({"type", "notNull", "text", "character", "length"})
"""The implicit rules that are evaluated before the target gets a row. All others at the target are its refusals."""
_OF_RECORDS = (
    "Correct the records at the source, or reject them by a rule of a validate node. onTypeMismatch does not apply: a "
    "row that explode makes cannot be rejected without the other rows of its record."
)


def _excess(path: Path, count: RuleCount) -> str | None:
    """Return why the violations of a rule end the run: "" if any violation does, else the limit that they exceed.
    Return None if they do not end the run."""
    if count.on_fail == "abort":
        return "" if count.violations else None
    rules = (rule for validate in path.validates if validate.id == count.node for rule in validate.row_level)
    rule = next((rule for rule in rules if rule_id(rule) == count.rule_id), None)
    excess = rule.excess(count.violations, count.evaluated or 0) if rule else None
    return f", {excess}" if excess else None


_BEYOND = "Correct the rows at the source, or raise maxViolations or maxViolationPct of the rule."
_ADVICE = {
    "abort": "Correct the rows at the source, or set onFail of the rule (for types: onTypeMismatch) to skip or warn.",
    "skip": _BEYOND,
    "warn": _BEYOND,
}
_HINTS = {
    "order": "Set orderBy to a column that differs between rows of the same key, or drop the columns that differ first."
}


def _rule_text(rule: RuleCount) -> str:
    return f"Rule {rule.type} on {rule.field!r}" if rule.field else f"Rule {rule.type}"


def _why(rule: RuleCount) -> str:
    return f" ({rule.message})" if rule.message else ""


def describe_positions(refs: Sequence[RecordRef], names: Mapping[int, str]) -> str:
    """`flights.csv record 3, 17; other.csv record 1`"""
    by_file: dict[int, list[str]] = {}
    for ref in refs:
        by_file.setdefault(ref.file, []).append(f"{ref.record}")
    return "; ".join(f"{names[file]} record {', '.join(records)}" for file, records in by_file.items())


_WARNING_TEXTS = {
    "skip": ("rows.rejected", " rejected", " rejected"),
    "warn": ("rows.warned", ", loaded unless another rule rejected it", ", loaded unless another rule rejected them"),
}
"""For each `onFail`: the code of the warning, its text after one row, and its text after several rows."""


VIOLATIONS = frozenset(code for code, *_ in _WARNING_TEXTS.values())
"""The codes that `violation_warnings` uses."""


def violation_warnings(rules: Sequence[RuleCount]) -> list[RunWarning]:
    """Return the warnings of a run for violated `skip` and `warn` rules."""
    return [_violation_warning(rule) for rule in rules if rule.violations and rule.on_fail in _WARNING_TEXTS]


def _violation_warning(rule: RuleCount) -> RunWarning:
    text = _WARNING_TEXTS[rule.on_fail][min(rule.violations, 2)]
    return RunWarning(
        _WARNING_TEXTS[rule.on_fail][0], rule.node, f"{_rule_text(rule)}: {counted(rule.violations, 'row')}{text}."
    )


def node_reports(path: Path, read: int, result: PassResult) -> list[NodeReport]:
    """Return the counts of the nodes before the target. A node passes on every row that it neither filters nor
    rejects, and the rows that it makes of records."""
    rejected, filtered = result.at_nodes("dropped_at"), result.at_nodes("filtered_at")
    elsewhere, grouped = result.at_nodes("elsewhere_at"), result.at_nodes("grouped_at")
    reports: list[NodeReport] = []
    nodes: list[Source | Transform | Validate] = [path.source, *path.transforms, *path.validates]
    for node in nodes:
        left = read - rejected[node.id] - filtered[node.id] - elsewhere[node.id] - grouped[node.id]
        counts: dict[str, Any] = {
            "rows_filtered": filtered[node.id],
            "rows_grouped": grouped[node.id],
            "rows_rejected_here": rejected[node.id],
        }
        if path.explode is not None and path.explode[0] == node.id:
            counts["rows_exploded"] = result.total("rows_exploded")
            left += counts["rows_exploded"]
        joins = tuple(_join_counts(node, result)) if isinstance(node, Transform) else ()
        reports.append(NodeReport(node.id, node.kind, rows_in=read, rows_out=left, joins=joins, **counts))
        taken = taken_of(node) if isinstance(node, Transform) else None
        if taken is not None:
            _count_branches(reports, taken, result)
        read = left
    reports[0].rows_read = reports[0].rows_in
    return reports


def reports_of(paths: Sequence[Path], read: int, result: PassResult) -> list[NodeReport]:
    """Return the counts of the nodes before a target. `read` is the number of rows that were read. Nodes on several
    paths have the sums of their rows."""
    if len(paths) == 1:
        return node_reports(paths[0], read, result)
    own: dict[str, NodeReport] = {}
    shared: dict[str, NodeReport] = {}
    for path in paths:
        part = result.of(path.source.id)
        for report in node_reports(path, rows_read(part), part):
            if report.id in path.own_nodes:
                own[report.id] = report
            else:
                shared[report.id] = add_nodes(shared[report.id], report) if report.id in shared else report
    return [*own.values(), *shared.values()]


def _count_branches(reports: list[NodeReport], taken: Take, result: PassResult) -> None:
    """Turn the last report into the report of a branch node. Rows that the nodes before the branch reject are counted
    only on the path of its first branch."""
    report, routed = reports[-1], result.at_nodes("routed_at")
    report.kind, report.taken = taken.branch.kind, taken.to
    report.branches = tuple(BranchCount(to, routed[branch_key(report.id, to)]) for to in taken.branch.readers)
    report.rows_out = sum(branch.rows for branch in report.branches)
    if not taken.takes_bad:
        for before in reports:
            before.is_partial = True
        report.rows_elsewhere = report.rows_in - report.rows_out - (report.rows_filtered or 0)


def _join_counts(node: Transform, result: PassResult) -> Iterator[JoinCount]:
    matched, unmatched = result.at_nodes("matched_at"), result.at_nodes("unmatched_at")
    for op, _ in node.joins(ROOT):
        key = join_key(node.id, op.with_)
        yield JoinCount(op.with_, op.type, matched[key], unmatched[key], result.references.get(op.with_))


def unmatched_warnings(nodes: Sequence[NodeReport]) -> list[RunWarning]:
    """Warn of joins without any match: they load NULL in all their columns or filter every row. Joins of type anti are
    excluded, because having no match is their purpose."""
    return [
        RunWarning(
            "join.none_matched",
            node.id,
            f"None of {counted(join.unmatched, 'row')} has a match in {join.reference}, {_WITHOUT_MATCH[join.type]}. "
            "Check whether both keys are written alike.",
        )
        for node in nodes
        for join in node.joins
        if join.type in _WITHOUT_MATCH and join.unmatched and not join.matched
    ]


_WITHOUT_MATCH = {
    "left": "so that the columns of the join are NULL in all of them",
    "inner": "so that the join filters all of them",
    "semi": "so that the join filters all of them",
}
