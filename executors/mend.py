"""Mending rejected rows by one expression, evaluated as a pipeline's `derive` evaluates it."""

from __future__ import annotations

from collections import defaultdict
from contextlib import closing, suppress

from executors.errors import Failure, Terminal
from executors.model import RowsRef, RunJob, RunReport
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import connect, interrupt, translate
from executors.postgres.ddl import Conn
from executors.postgres.quarantined import Owner, change_of, change_rows, mended_in, texts_of
from executors.rejected_rows import Choice, Place, RejectedRowsReader
from executors.replay import rows_of
from executors.runs.target_run import TargetRun
from executors.spark.mending import Values, evaluate
from executors.spark.session import RunSession
from executors.target_hooks import TargetHooks
from ir.nodes import Target, Transform
from ir.ops import Derive
from ir.pipeline import Path


def mend_rows(job: RunJob, ports: Ports) -> RunReport:
    """Compute the job's expression for each of its rows and put the value into the row's field; the original stays.

    All rows are mended or none; a row whose value comes out as it is stays as it is, and so does one whose value
    somebody has typed, unless the job says otherwise. Those that an attempt before this
    one has mended are not computed again. Returns what was done; raises the `Failure` that ended it.
    """
    ref, report = rows_of(job), RunReport()
    target = _target_of(job, ref)
    name = f"flow run {job.run_id}"
    connection = connect(job.connections[target.connection], autocommit=True, application_name=name)
    with closing(connection) as conn, RunSession() as session:
        ports.events.step("start")
        ports.cancellation.on_cancel(lambda: _interrupt(session, conn))
        meta.ensure_meta(conn)
        try:
            _mend(job, ports, report, session, conn, target, ref)
        except Failure as failure:
            ports.cancellation.check()  # what was interrupted fails with errors of its own
            raise _unquoting(failure, ref.expression) from None
    return report


def _unquoting(failure: Failure, expression: str) -> Failure:
    """Who sees no values is told why a run ended, and an expression that mends rows may quote theirs."""
    message = failure.message.replace(repr(expression), "the expression")
    failure.message = message[:1].upper() + message[1:]
    failure.args = (failure.message,)
    return failure


def _mend(
    job: RunJob, ports: Ports, report: RunReport, session: RunSession, conn: Conn, target: Target, ref: RowsRef
) -> None:
    path = _path(job.pipeline.path_to(target), ref)
    reader = RejectedRowsReader(job, ref)
    reading = reader.read(TargetRun(path, conn, TargetHooks(job, ports, report, target)), [])
    report.row_counts = reader.choice.left_out_counts
    if reading is None:
        report.nothing_new = not report.row_counts.get("mended")
        return
    ports.events.step("pass", target.id)
    changed = unchanged = 0
    with translate(target.id), conn.transaction():
        typed = _typed(conn, reader.choice, ref)
        for values in evaluate(session, path, reading, ref.column):
            wanted = {place: value for place, value in values.items() if place not in typed}
            others = _others(conn, reader.choice, ref, wanted)
            changed += _write(job, conn, reader.choice, ref, others)
            unchanged += len(wanted) - len(others)
        ports.events.step("load", target.id)
    unfit = len(reader.choice.rows) - changed - unchanged - len(typed)
    for result, rows in (("mended", changed), ("unchanged", unchanged), ("typed", len(typed)), ("unfit", unfit)):
        if rows:
            report.row_counts[result] = report.row_counts.get(result, 0) + rows


def _typed(conn: Conn, choice: Choice, ref: RowsRef) -> set[Place]:
    """Where somebody may have typed the value by hand: it is not the source's, and the row's last mend was no
    expression for this column."""
    if ref.replaces_typed:
        return set()
    found: set[Place] = set()
    for table, rows in choice.by_table.items():
        mended = mended_in(conn, table, [row.id for row in rows.values()], ref.column)
        found |= {p for p, row in rows.items() if row.id in mended and row.mend_run not in ref.computed_by}
    return found


def _others(conn: Conn, choice: Choice, ref: RowsRef, values: Values) -> Values:
    """The values that are not what their rows hold already: a row is not mended by what it had."""
    held: dict[tuple[str, str], str | None] = {}
    by_table = defaultdict(list)
    for place in values:
        by_table[choice.rows[place].table].append(choice.rows[place].row)
    for table, rows in by_table.items():
        texts = texts_of(conn, table, [row.id for row in rows], ref.column)
        held |= {row.key: texts[row.id] for row in rows if row.id in texts}
    keys = {place: choice.rows[place].row.key for place in values}
    return {place: value for place, value in values.items() if keys[place] not in held or held[keys[place]] != value}


def _write(job: RunJob, conn: Conn, choice: Choice, ref: RowsRef, values: Values) -> int:
    """Rows that cannot be read as such, and those that somebody has changed meanwhile, are left as they are."""
    owner, change = Owner(job.tenant, job.pipeline.id), change_of("fix", ref.by, ref.reason, job.run_id)
    rows = {place: choice.rows[place].row for place in values}
    cells = {row.key: {ref.column: _held(values[place])} for place, row in rows.items()}
    return len(change_rows(conn, owner, choice.tables, list(rows.values()), change, cells))


def _held(value: str | None) -> str | None:
    if value is not None and "\0" in value:
        raise Terminal(
            "fix.value_unusable",
            "The expression gives a NUL character, which cannot be kept.",
            hint="Nothing was changed.",
        )
    return value


def _path(path: Path, ref: RowsRef) -> Path:
    """The source as it is, so that what is no value of a declared type can be mended too, and the expression; the
    pipeline's own ops come when the rows are replayed."""
    source = path.source.model_copy(update={"columns": None})
    op = Derive(op="derive", columns={ref.column: ref.expression})
    mend = Transform(id="mend", kind="transform", inputs=[source.id], ops=[op])
    return Path(source, (mend,), (), path.target)


def _target_of(job: RunJob, ref: RowsRef) -> Target:
    for target in job.pipeline.targets():
        if target.id == ref.node:
            return target
    raise Terminal(
        "replay.target_gone",
        f"The pipeline no longer has the target {ref.node!r}.",
        hint="Give it back, or ignore the rows.",
    )


def _interrupt(session: RunSession, conn: Conn) -> None:
    with suppress(Failure):
        session.interrupt()
    with suppress(Failure):
        interrupt(conn)
