"""Rejected rows in the quarantine tables of a PostgreSQL database."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from executors.destinations.postgres.plan import load_plan
from executors.destinations.rejected_rows import RejectedRowsHandler
from executors.errors import Terminal
from executors.load_record import LoadCommit, LoadFile, RunRef
from executors.model import Connection, RowsRef, RunJob, TaskCount
from executors.postgres.choosing import choose_rows, fields_of, parts_of
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.former_names import former_names, under_present_names
from executors.postgres.incremental_range import IncrementalRange, open_range
from executors.postgres.load import commit_load
from executors.postgres.meta import marker_of
from executors.postgres.quarantined import Owner, change_of, change_rows, fixed_in, texts_of
from executors.postgres.read_later import bounds_by_position, read_later
from executors.postgres.refused import refuse_for
from executors.postgres.reject_reader import RejectsReader
from executors.postgres.replay import ReplayCommit, close_repeats, evaluate_rows, read_conflicts, taken_keys
from executors.postgres.replay_results import keep_results_of_nothing
from executors.reading import Origin, Reading
from executors.rejected_rows import Choice, RowOutcome, RowPosition
from executors.runs.state import Inputs, Load, LoadState, RejectedRows
from executors.runs.target_run import TargetRun
from executors.secrets import encrypt
from executors.table_name import TableName
from ir.connectors import CONNECTORS
from ir.load_modes import load_mode


class PostgresRejectedRows(RejectedRowsHandler):
    """`session` and `connection` are those of the database with the quarantine tables: here that of the target."""

    def session(self, target: TargetRun) -> Conn:
        conn: Conn = target.connection
        return conn

    def connection(self, job: RunJob, target: TargetRun) -> Connection:
        return job.connections[target.path.target.connection]

    def choose(self, job: RunJob, target: TargetRun, ref: RowsRef) -> tuple[Choice, Inputs]:
        conn, path = self.session(target), target.path
        modes = [load_mode(node.load_mode) for node in job.pipeline.targets() if node.id == ref.node]
        rereads = any(mode.keeps_watermark for mode in modes) and not ref.column
        rereads = rereads and not CONNECTORS[path.source.connector].keeps_order
        sources = [source.id for source in target.sources] if target.is_united else []
        choice = choose_rows(conn, owner_of(job), ref, job.run_id, rereads=rereads, sources=sources)
        encrypted = encrypt(self.connection(job, target))
        parts = ((path, choice.of(path.source.id) if sources else choice) for path in target.paths)
        inputs = []
        for path, part in parts:
            if part.rows:
                # A fix names columns as the rows do.
                renamed = path.source.renamed or {}
                former = {} if ref.column else former_names(conn, owner_of(job), ref.node, part, renamed)
                inputs.append((path, _reading(conn, part, ref, path.source.id, RejectsReader(encrypted, former))))
        return choice, inputs

    # --- replay -----------------------------------------------------------------------------------------------

    def refuse_read_later(self, state: LoadState) -> TaskCount | None:
        load, rows = state.load, state.load.rejected_rows
        rows_range, choice, owner = self.find_range_to_leave(load), rows.choice, owner_of(load.context.job)
        quarantine = {*choice.tables, *map(TableName.parse, load.quarantine.values())}
        with translate(rows.target.id):
            bounds = bounds_by_position(load.connection, owner, rows.target.id, rows_range, choice.by_table, quarantine)
            if not bounds:
                return None
            refusal = read_later(load.connection, load_plan(state), rows_range, bounds)
        return refuse_for(load.connection, load_plan(state), [refusal])

    def find_conflicts(self, state: LoadState) -> Mapping[RowPosition, Mapping[str, Any]]:
        with translate(state.target.id):
            return read_conflicts(state.load.connection, load_plan(state))

    def refuse_taken_keys(self, state: LoadState) -> TaskCount:
        conn, plan = state.load.connection, load_plan(state)
        with translate(state.target.id):
            refusals = taken_keys(conn, plan, state.load.rejected_rows.may_replace)
        return refuse_for(conn, plan, refusals)

    def find_range_to_leave(self, load: Load) -> IncrementalRange:
        job, target = load.context.job, load.rejected_rows.target
        rows_range = open_range(load.connection, job.tenant, job.pipeline.id, target)
        if rows_range is None or rows_range.stored is None:
            raise Terminal(
                "replay.no_watermark",
                f"{target.schema_}.{target.table} has no watermark yet: the next load would begin at the highest of "
                "these rows, and miss those below.",
                node=target.id,
                hint="Set the watermark of this target first, then replay the rows.",
            )
        return rows_range

    def commit(self, state: LoadState) -> LoadCommit:
        load, rows, plan = state.load, state.load.rejected_rows, load_plan(state)
        plan = replace(
            plan,
            after_load=_replay_commit(state),
            may_replace=rows.may_replace,
            files=files_of_rows(rows, load.path.source.id),
            findings=replace(plan.findings, reject_tables=tuple(table.written for table in rows.choice.tables)),
        )
        commit_load(load.connection, plan)
        return marker_of(load.connection, load.ref)

    def evaluate(self, state: LoadState) -> Mapping[RowPosition, RowOutcome]:
        with translate(state.target.id):
            return evaluate_rows(state.load.connection, load_plan(state), state.load.rejected_rows.choice.rows)

    def keep_results(self, ref: RunRef, target: TargetRun, choice: Choice) -> None:
        conn, owner = self.session(target), Owner(ref.tenant, ref.pipeline)
        with translate(ref.node), conn.transaction():
            keep_results_of_nothing(conn, ref, choice.excluded)
            close_repeats(conn, owner, ref.run_id, choice.tables, choice.repeats)

    # --- fix --------------------------------------------------------------------------------------------------

    @contextmanager
    def fixing(self, target: TargetRun) -> Iterator[None]:
        with translate(target.path.target.id), self.session(target).transaction():
            yield

    def find_fixed(self, target: TargetRun, choice: Choice, column: str) -> Collection[RowPosition]:
        found: set[RowPosition] = set()
        for table, rows in choice.by_table.items():
            fixed = fixed_in(self.session(target), table, [row.id for row in rows.values()], column)
            found |= {position for position, row in rows.items() if row.id in fixed}
        return found

    def find_texts(
        self, target: TargetRun, choice: Choice, column: str, positions: Collection[RowPosition]
    ) -> Mapping[RowPosition, str | None]:
        entries: dict[TableName, dict[int, RowPosition]] = defaultdict(dict)
        for position in positions:
            chosen = choice.rows[position]
            entries[chosen.table][chosen.row.id] = position
        found: dict[RowPosition, str | None] = {}
        for table, places in entries.items():
            texts = texts_of(self.session(target), table, list(places), column)
            found |= {places[entry]: text for entry, text in texts.items()}
        return found

    def fix(
        self, job: RunJob, target: TargetRun, choice: Choice, ref: RowsRef, values: Mapping[RowPosition, str | None]
    ) -> int:
        change = change_of("fix", ref.by, ref.reason, job.run_id)
        rows = {position: choice.rows[position].row for position in values}
        cells = {row.key: {ref.column: values[position]} for position, row in rows.items()}
        return len(change_rows(self.session(target), owner_of(job), choice.tables, list(rows.values()), change, cells))


def _reading(conn: Conn, choice: Choice, ref: RowsRef, source: str, reader: RejectsReader) -> Reading:
    return Reading(
        fields=under_present_names(fields_of(conn, choice, ref, source), reader.former),
        origins=tuple(
            Origin(seq, key[-1], _identity(*key), is_unit=False, source=key[1] or source)
            for key, seq in choice.origins.items()
        ),
        parts=tuple(parts_of(choice)),
        reader=reader,
        records=len(choice.rows),
    )


def owner_of(job: RunJob) -> Owner:
    return Owner(job.tenant, job.pipeline.id)


def _replay_commit(state: LoadState) -> ReplayCommit:
    rows = state.load.rejected_rows
    choice = rows.choice
    return ReplayCommit(
        owner=owner_of(state.load.context.job),
        rows={position: chosen.row for position, chosen in choice.rows.items()},
        tables=tuple(choice.tables),
        excluded=choice.excluded,
        by=rows.ref.by,
        reason=rows.ref.reason,
        rows_range=state.range_to_leave,
        repeats=choice.repeats,
    )


def files_of_rows(rows: RejectedRows, source: str) -> list[LoadFile]:
    """Return the files of the rows. A table with a column for file hashes gets the real ones."""
    hashes = rows.ref.hashes
    return [
        LoadFile(seq, name, hashes.get((run, name), ""), is_unit=False, source=head or source, head=head)
        for (run, head, name), seq in rows.choice.origins.items()
    ]


def _identity(run: str, head: str, name: str) -> str:
    """Return an identity for each origin, because several runs may have read the same file."""
    return hashlib.sha256(f"rejected\n{run}\n{head}\n{name}".encode()).hexdigest()
