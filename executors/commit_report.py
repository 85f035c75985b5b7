"""Fills a run's report from commit markers.

Every attempt fills its report from the marker, so that a load committed by an earlier attempt is reported in the same
way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from executors.accounting import VIOLATIONS, unmatched_warnings, violation_warnings
from executors.load_record import LoadCommit, LoadCounts, LoadKind
from executors.model import RuleCount
from executors.report import CheckReport, HookReport, NodeReport, RunReport, RunWarning, TargetCounts
from executors.schema_changes import SchemaChange
from executors.target_counts import counted_twice, nodes_of, rules_of
from ir.words import counted


def add_commit(report: RunReport, commit: LoadCommit) -> list[NodeReport]:
    """Add the results of a commit to a run's report. Return the reports of nodes that were not in it before."""
    record, counts, target = commit.record, commit.counts, commit.node_report
    before = list(report.nodes)
    report.staged_bytes = record.staged_bytes
    put_counts(report, commit.node, TargetCounts(frozenset(commit.files_done), [*record.nodes, target], record.rules))
    warn_of_counts(report)
    report.checks += record.checks
    for hook in record.hooks:
        add_hook(report, hook)
    add_quarantined(report, counts.quarantine_rows, counts.quarantine_entries, commit.reject_tables)
    add_warnings(
        report,
        [
            *check_warnings(record.checks),
            *_load_warnings(commit.node, counts, record.rules),
            *older_warnings(commit.node, counts.older),
            *known_warnings(commit.node, counts.differing, counts.doubtful),
            *ahead_warnings(commit.node, counts.ahead),
            *below_warnings(commit.node, counts.below_bound, commit.files_done),
            *removed_warnings(commit.node, counts.removed),
            *_restore_warnings(commit),
            *change_warnings(commit.node, record.schema_changes),
            *_range_warnings(commit),
        ],
    )
    if commit.kind is LoadKind.REPLAY:
        report.row_counts = dict(record.row_results)
    return [node for node in report.nodes if node not in (*before, target)] + [target]


def change_warnings(node: str, changes: Iterable[SchemaChange], *, is_planned: bool = False) -> list[RunWarning]:
    """Return a warning for each change of columns that a load has followed, or would follow."""
    verb = "would run" if is_planned else "ran"
    return [
        RunWarning(
            "schema.changed",
            node,
            f"{change.sentence} The load {verb}: {change.statement}." if change.statement else change.sentence,
        )
        for change in changes
    ]


def _range_warnings(commit: LoadCommit) -> list[RunWarning]:
    """Report what became of the rows of a range that was loaded again."""
    gone, left = commit.record.range_replaced, commit.record.range_left
    found = []
    if gone is not None:
        rows, new = counted(gone, "row"), commit.counts.inserted
        text = f"{rows} of the range were replaced by {new:,} that the source has now."
        found.append(RunWarning("backfill.range_replaced", commit.node, text))
    if left:
        text = (
            f"{counted(left, 'row')} of the range stay in the target: the source does not have them any more, or they "
            "were not loaded again, and an upsert deletes no rows."
        )
        found.append(RunWarning("backfill.range_left", commit.node, text))
    return found


def put_counts(report: RunReport, target: str, target_count: TargetCounts) -> None:
    """Set the counts of a target in a run's report and recompute the counts of nodes and rules."""
    report.target_counts[target] = target_count
    report.nodes, report.rules = nodes_of(report.target_counts.values()), rules_of(report.target_counts.values())


def warn_of_counts(report: RunReport) -> None:
    """Replace the warnings that depend on the counts of all targets together."""
    report.warnings = [w for w in report.warnings if w.code not in (*VIOLATIONS, _TWICE, _UNMATCHED)]
    twice = [_counted_twice(node) for node in counted_twice(report.target_counts.values())]
    add_warnings(report, [*violation_warnings(report.rules), *twice, *unmatched_warnings(report.nodes)])


_TWICE = "rows.counted_twice"
_UNMATCHED = "join.none_matched"


def _counted_twice(node: str) -> RunWarning:
    text = "Its targets had different files to load, some of them the same: the rows of those count once for each."
    return RunWarning(_TWICE, node, text)


def add_quarantined(report: RunReport, rows: int, entries: int, tables: Iterable[str]) -> None:
    report.quarantine_rows += rows
    report.quarantine_entries += entries
    report.quarantine_tables = list(dict.fromkeys((*report.quarantine_tables, *tables)))


def add_hook(report: RunReport, hook: HookReport) -> None:
    """Set the result of a hook in a run's report, in place of an earlier result of the same hook."""
    report.hooks = [known for known in report.hooks if known.id != hook.id] + [hook]


def add_warnings(report: RunReport, warnings: Iterable[RunWarning]) -> None:
    """Add warnings to a run's report, each once: several targets may give the same warning."""
    report.warnings = list(dict.fromkeys((*report.warnings, *warnings)))


def check_warnings(checks: Iterable[CheckReport]) -> list[RunWarning]:
    """Return the warnings of checks that did not stop the load."""
    return [
        RunWarning("check.noted" if check.ok else "check.failed", check.node, f"{check.check}: {check.message}")
        for check in checks
        if check.message and (check.ok or check.on_fail == "warn")
    ]


def below_warnings(node: str, below: int, units: Sequence[str]) -> list[RunWarning]:
    """Warn of rows of load units below the bound of an incremental load. Rows of a database below the bound are
    expected and give no warning."""
    if not below or not units:
        return []
    return [
        RunWarning(
            "rows.below_watermark",
            node,
            f"{counted(below, 'row')} below the watermark were not loaded. If they are late, set the watermark back "
            "and load the files again. A watermarkLag lets later loads include late rows.",
        )
    ]


def removed_warnings(node: str, removed: int) -> list[RunWarning]:
    """Warn of rows that a load of all rows has deleted, because their source does not have them."""
    if not removed:
        return []
    text = f"The source does not have {counted(removed, 'row')} that the table had; the load of all rows deleted them."
    return [RunWarning("rows.removed", node, text)]


def known_warnings(node: str, differing: int, doubtful: int) -> list[RunWarning]:
    """Warn of rows for which only the table itself showed whether they were loaded."""
    warnings = []
    if differing:
        text = (
            f"Not loaded, because the table has their key with other values: {counted(differing, 'row')}. A trigger or "
            "a person changed the table, or the source changed them without raising watermarkColumn."
        )
        warnings.append(RunWarning("rows.known_by_key", node, text))
    if doubtful:
        text = (
            f"Loaded, though the table may hold them already: {counted(doubtful, 'row')}. Its triggers may change "
            "values, and it has no key by which rows read again are known. Look for duplicate rows."
        )
        warnings.append(RunWarning("rows.may_repeat", node, text))
    return warnings


def ahead_warnings(node: str, ahead: int) -> list[RunWarning]:
    """Warn of rows that an incremental load includes but that do not raise the watermark."""
    if not ahead:
        return []
    text = (
        f"Later than the clock of the target's database, infinite or NaN in watermarkColumn: {counted(ahead, 'row')}. "
        "Such rows load once; the watermark does not follow them, so that rows before them still load. Times without "
        "a zone are compared with UTC: for local times ahead of it, and for plans, set watermarkLead."
    )
    return [RunWarning("rows.ahead_of_clock", node, text)]


def older_warnings(node: str, older: int) -> list[RunWarning]:
    """Warn of rows that an upsert did not load because the table has newer ones."""
    if not older:
        return []
    text = f"Not loaded, as the table has newer values of the column orderBy for their keys: {counted(older, 'row')}."
    return [RunWarning("rows.older", node, text)]


def _restore_warnings(commit: LoadCommit) -> list[RunWarning]:
    restore, table = commit.record.restore, commit.table
    if restore is None or not restore.others:
        return []
    text = (
        f"Since the backup {', '.join(restore.others)} loaded {table.schema}.{table.table} too. The restore deleted "
        "those rows, although they count as loaded there. Load them again."
    )
    return [RunWarning("restore.others_undone", commit.node, text)]


def _load_warnings(node: str, counts: LoadCounts, rules: Iterable[RuleCount]) -> list[RunWarning]:
    warnings = []
    if swallowed := counts.suppressed - counts.older:
        warnings.append(
            RunWarning("rows.suppressed", node, f"A trigger of the table prevented {counted(swallowed, 'row')}.")
        )
    violated, entries = sum(rule.violations for rule in rules), counts.quarantine_entries
    if entries < violated:
        warnings.append(
            RunWarning(
                "rejects.not_kept",
                node,
                f"{violated - entries:,} of {violated:,} violations were counted but not stored: their node has no "
                "quarantine.",
            )
        )
    return warnings
