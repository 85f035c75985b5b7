"""The counts of nodes that several targets share: the rows of each file count once, and counts that cannot be separated
are reported as such."""

from __future__ import annotations

import pytest

from executors.commit_report import put_counts, warn_of_counts
from executors.model import RuleCount
from executors.report import NodeReport, RunReport, TargetCounts
from executors.target_counts import counted_twice, nodes_of, rules_of

RECORDS = {"a": (10, 2), "b": (5, 1), "c": (7, 0)}
"""Rows of each file, and how many of them the rule rejects."""


def target_count(target: str, files: str) -> TargetCounts:
    """Return the counts of a target that reads these files through one validate node."""
    read, rejected = (sum(RECORDS[file][at] for file in files) for at in (0, 1))
    nodes = [
        NodeReport("src", "source", read, read, rows_read=read),
        NodeReport("check", "validate", read, read - rejected),
        NodeReport(target, "target", read - rejected, read - rejected, rows_read=read),
    ]
    return TargetCounts(frozenset(files), nodes, [RuleCount("check", "r", "notNull", "id", "skip", rejected)])


def reported(*target_counts: TargetCounts) -> dict[str, tuple[int, int]]:
    return {node.id: (node.rows_in, node.rows_out) for node in nodes_of(target_counts)}


@pytest.mark.parametrize(
    ("one", "other", "read", "rejected"),
    [("ab", "ab", 15, 3), ("b", "ab", 15, 3), ("ab", "b", 15, 3), ("a", "b", 15, 3), ("", "b", 5, 1)],
    ids=["the same", "some before", "all before", "apart", "nothing"],
)
def test_a_shared_node_counts_each_file_once(one: str, other: str, read: int, rejected: int) -> None:
    target_counts = [target_count("load", one), target_count("load-u", other)]
    numbers = reported(*target_counts)
    assert numbers["src"] == (read, read)
    assert numbers["check"] == (read, read - rejected)
    assert [(rule.rule_id, rule.violations) for rule in rules_of(target_counts)] == [("r", rejected)]
    assert counted_twice(target_counts) == []


def test_files_that_targets_have_only_partly_in_common_are_said_to_count_twice() -> None:
    target_counts = [target_count("load", "ab"), target_count("load-u", "bc")]
    assert reported(*target_counts)["src"] == (27, 27)
    assert counted_twice(target_counts) == ["src", "check"]


def test_targets_keep_their_own_numbers_and_the_order_of_the_document() -> None:
    target_counts = [target_count("load", "b"), target_count("load-u", "ab")]
    assert list(reported(*target_counts)) == ["src", "check", "load", "load-u"]
    assert [node.rows_read for node in nodes_of(target_counts)] == [15, None, 5, 15]


def test_the_last_count_of_a_target_is_final() -> None:
    report = RunReport()
    for files in ("a", "ab"):
        put_counts(report, "load", target_count("load", files))
    assert [rule.violations for rule in report.rules] == [3]


def test_warnings_give_the_numbers_of_all_targets_together() -> None:
    report = RunReport()
    for target, files in (("load", "b"), ("load-u", "ab")):
        put_counts(report, target, target_count(target, files))
        warn_of_counts(report)
    assert [warning.message for warning in report.warnings] == ["Rule notNull on 'id': 3 rows rejected."]
