"""The load transaction: all of a load commits, or none of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from executors.errors import Terminal
from executors.load_record import LoadCommit, LoadCounts, LoadFile, LoadKind, LoadRecord, RunRef
from executors.model import Backup
from executors.postgres.backups import take_backup
from executors.postgres.carried_fixes import carry_fixes
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.explain import explain
from executors.postgres.fences import require_fence
from executors.postgres.load_modes import load_handler
from executors.postgres.load_plan import LoadPlan, ModeCounts, RejectCounts
from executors.postgres.meta import find_commit, table_identity, write_commit
from executors.postgres.newer_versions import supersede_newer
from executors.postgres.quarantine import close_not_loaded, write_rejects
from executors.postgres.recording import recorded
from executors.postgres.replacing import count_left, delete_range
from executors.postgres.samples import keep_samples
from executors.postgres.staging import count_bytes, require_rejected, require_staging
from executors.postgres.superseding import Superseded, supersede_read_again, supersede_replaced
from executors.postgres.table_lock import lock_table
from ir.load_modes import load_mode

__all__ = ["LoadFile", "LoadPlan", "RunRef", "commit_load"]


def commit_load(conn: Conn, plan: LoadPlan, *, explains: bool = True) -> LoadCounts:
    """Load the staged rows and write the commit marker, in one transaction.

    If this run has already committed this node, only return the marker's counts, unless it is a stream. Raises
    LeaseLost if the fence is newer, TargetBusy while another load holds the table, Transient `staging.lost` and
    Terminal `rows.lost`. A lost connection is Transient too; then the marker shows whether the transaction committed.
    With `explains`, a failure lists the refused rows.
    """
    try:
        with translate(plan.run.node):
            return _load(conn, plan)
    except Terminal as failure:
        if explains:
            explain(conn, plan, failure)
        raise


def _load(conn: Conn, plan: LoadPlan) -> LoadCounts:
    with conn.transaction():
        require_fence(conn, plan.run)
        if not plan.run.is_window and (committed := find_commit(conn, plan.run)):
            return committed.counts
        lock_table(conn, plan.target, plan.run.node, in_turn=bool(plan.run.chunk))
        _apply_settings(conn, plan)
        if _reports_lost_rows(plan):
            require_rejected(conn, plan.tables, plan.winners, plan.rejected, plan.run.node)
        else:
            _require_staging(conn, plan)
        # Before the table is locked against readers, because superseding many rows takes time.
        superseded = _supersede(conn, plan)
        with recorded(conn) as statements:
            done, backup, gone = _run_mode(conn, plan)
        keep_samples(conn, plan)
        counts = _reconciled(conn, plan, done)
        left = count_left(conn, plan.dest, plan.replaced, counts.loaded) if plan.replaced and gone is None else None
        rejects = (plan.after_load or _keep_rejects)(conn, plan, counts)
        carry_fixes(conn, plan.run, superseded, plan.quarantine.values(), plan.files, plan.united)
        counts = replace(counts, quarantine_rows=rejects.rows, quarantine_entries=rejects.entries)
        results = _Done(counts, done, rejects, superseded, statements, backup, gone, left)
        write_commit(conn, plan.run, _marker(conn, plan, results))
    return counts


@dataclass(frozen=True, slots=True)
class _Done:
    """The results of the transaction, for its marker."""

    counts: LoadCounts
    mode: ModeCounts
    rejects: RejectCounts
    superseded: Superseded
    statements: Sequence[str]
    backup: Backup | None
    range_replaced: int | None
    range_left: int | None


def _keep_rejects(conn: Conn, plan: LoadPlan, counts: LoadCounts) -> RejectCounts:
    rows, entries = write_rejects(conn, plan.run, plan.tables, plan.winners, plan.quarantine)
    close_not_loaded(conn, plan.run, plan.quarantine.values(), [(f.name, f.head) for f in plan.files])
    return RejectCounts(rows, entries)


def _supersede(conn: Conn, plan: LoadPlan) -> Superseded:
    if plan.after_load is not None:  # a replay, whose rows come from quarantine
        return Superseded()
    if plan.followed is not None:
        return supersede_newer(conn, plan, plan.followed)
    if load_mode(plan.load_mode).replaces_all_rows:
        return supersede_replaced(conn, plan.run, plan.quarantine.values())
    return supersede_read_again(conn, plan.run, plan.files, plan.united)


def _run_mode(conn: Conn, plan: LoadPlan) -> tuple[ModeCounts, Backup | None, int | None]:
    """Run the statements of the load mode. `before_change` and the backup run before the first statement that changes
    the table. The last result is the number of rows of a replaced range, None without one.

    Both block writers, ANALYZE and VACUUM, so a hook before the swap must run earlier: it would wait for the load that
    waits for the hook.
    """
    handler, backups, gone = load_handler(plan.load_mode), list[Backup](), list[int]()

    def keep() -> None:
        plan.before_change(plan)
        if plan.backs_up:
            backups.append(take_backup(conn, plan.run, plan.target))
        if plan.replaced is not None and plan.replaced.deletes:
            gone.append(delete_range(conn, plan.run, plan.dest, plan.replaced))

    def before_swap() -> None:
        plan.before_swap()
        keep()

    if not handler.calls_before_swap:
        keep()
    done = handler.load(conn, replace(plan, before_swap=before_swap))
    return done, backups[0] if backups else None, gone[0] if gone else None


def _marker(conn: Conn, plan: LoadPlan, done: _Done) -> LoadCommit:
    run, findings, row_results = plan.run, plan.findings, done.rejects.row_results
    return LoadCommit(
        run_id=run.run_id,
        node=run.node,
        attempt=run.attempt,
        token=run.token,
        kind=LoadKind.LOAD if row_results is None else LoadKind.REPLAY,
        load_mode=plan.load_mode,
        table=table_identity(conn, plan.target.schema, plan.target.table),
        counts=done.counts,
        watermark=done.mode.watermark,
        read_from=plan.rows_range.bound if plan.rows_range else None,
        reject_tables=findings.reject_tables,
        superseded_tables=done.superseded.tables,
        source_fields=findings.source_fields,
        record=LoadRecord(
            input=plan.input,
            nodes=findings.nodes,
            rules=findings.rules,
            checks=findings.checks,
            hooks=tuple(plan.hooks_ran()),
            statements=tuple(done.statements),
            backup=done.backup,
            superseded_entries=done.superseded.entries,
            row_results=row_results or {},
            sources=findings.sources,
            schema_changes=tuple(plan.changes),
            range_replaced=done.range_replaced,
            range_left=done.range_left,
            is_part=plan.is_part,
            chunk=plan.run.chunk,
            cursor_sum=plan.cursor_sum,
            staged_bytes=count_bytes(conn, plan.tables) if plan.run.chunk else 0,
        ),
        files_done=tuple(f.sha256 for f in plan.files if f.is_unit),
    )


def _apply_settings(conn: Conn, plan: LoadPlan) -> None:
    for name, value in plan.settings.items():
        conn.execute("SELECT set_config(%s, %s, true)", [name, value])


def _reports_lost_rows(plan: LoadPlan) -> bool:
    """Return whether the good rows need not be counted before the load, because the load itself fails if some are
    missing."""
    return load_handler(plan.load_mode).counts_staged and not plan.dest.row_triggers


def _require_staging(conn: Conn, plan: LoadPlan) -> None:
    require_staging(conn, plan.tables, plan.winners, plan.staged, plan.rejected, plan.run.node)


def _reconciled(conn: Conn, plan: LoadPlan, done: ModeCounts) -> LoadCounts:
    """Return the counts of the load. Raises `rows.lost` unless every staged row is accounted for; rows may be missing
    only where a row trigger can prevent them."""
    loaded = done.inserted + done.updated + done.unchanged
    missing = plan.staged - done.replaced - done.older - loaded
    if missing < 0 or (missing and not plan.dest.row_triggers):
        _require_staging(conn, plan)
        raise Terminal(
            "rows.lost",
            f"{plan.staged:,} rows were staged, but the database reports {loaded:,} loaded, {done.replaced:,} replaced "
            f"and {done.older:,} older than the rows of {plan.target}.",
            node=plan.run.node,
            hint="The target was not loaded. Check the rules of the table and the triggers of its partitions.",
        )
    beside = plan.followed
    return LoadCounts(
        plan.staged + plan.skipped.rows + (beside.beside_rows if beside else 0),
        done.inserted,
        done.updated,
        done.unchanged + done.absent,
        done.deleted,
        done.replaced + (beside.replaced if beside else 0),
        suppressed=missing + done.older,
        older=done.older,
        below_bound=plan.skipped.below_bound,
        read_again=plan.skipped.read_again,
        ahead=done.ahead,
        differing=plan.skipped.differing,
        doubtful=plan.skipped.doubtful,
        removed=done.removed,
    )
