"""The rejected rows of a replay, chosen once, as what a run reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from psycopg import sql

from executors.model import RowsRef, RunJob, RunWarning, SourceField
from executors.postgres.client import translate
from executors.postgres.commit_rows import source_fields_of
from executors.postgres.ddl import Conn, exists
from executors.postgres.names import TableName, identifier_of
from executors.postgres.quarantine_table import require_quarantine
from executors.postgres.quarantined import Owner, RejectedRow, find_rows
from executors.postgres.reject_reader import PART_ROWS, ROW_FLAGS, RejectsPart, RejectsReader
from executors.postgres.repeated_rejects import StandIns, find_repeats
from executors.postgres.replay_results import RowResult
from executors.postgres.superseding import SUPERSEDED
from executors.reading import Origin, Reading
from executors.runs.target_run import TargetRun
from executors.secrets import encrypt
from ir.connectors import CONNECTORS
from ir.load_modes import LOAD_MODES, load_mode
from ir.nodes import Source
from ir.types import STRING

RowPosition = tuple[int, int]
"""Where a row stands in the reading: the place of its origin, and its record there."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A row of the reading, and the table that keeps it. `seen` is the revision that it must have, if any."""

    table: TableName
    row: RejectedRow
    seen: int | None = None


@dataclass(slots=True)
class Choice:
    """The rows that can be loaded, by their place, and the others, each with the reason why it cannot."""

    rows: dict[RowPosition, Chosen] = field(default_factory=dict)
    origins: dict[tuple[str, str], int] = field(default_factory=dict)
    excluded: list[RowResult] = field(default_factory=list)
    repeats: list[tuple[RejectedRow, StandIns]] = field(default_factory=list)
    """Those that are left out because others stand for them."""
    beside: tuple[TableName, ...] = ()
    """Tables that hold other entries of these rows, or may: what becomes of a row is noted in all of them."""

    @property
    def excluded_counts(self) -> dict[str, int]:
        """How many rows are left out for which reason."""
        return dict(Counter(one.result for one in self.excluded))

    @property
    def by_table(self) -> dict[TableName, dict[RowPosition, RejectedRow]]:
        """The rows by the table that keeps them."""
        found: dict[TableName, dict[RowPosition, RejectedRow]] = {}
        for position, chosen in self.rows.items():
            found.setdefault(chosen.table, {})[position] = chosen.row
        return found

    @property
    def tables(self) -> list[TableName]:
        return list(dict.fromkeys((*(chosen.table for chosen in self.rows.values()), *self.beside)))


@translate()
def choose_rows(conn: Conn, owner: Owner, ref: RowsRef, run: str, *, rereads: bool = False) -> Choice:
    """What `run` can take of what was chosen. Raises Terminal `quarantine.unusable`.

    `rereads` says that runs read rows again that earlier ones have read.
    """
    choice = Choice()
    found = _find(conn, owner, ref, choice)
    replaced = runs_replaced(conn, owner, ref.node, {chosen.row.run_id for chosen in found})
    fit: list[Chosen] = []
    for chosen in found:
        if reason := "fixed" if chosen.row.fix_run == run else _why_not(chosen, ref, replaced):
            choice.excluded.append(RowResult.of(chosen.row, reason))
        else:
            fit.append(chosen)
    repeats = _repeats(conn, owner, ref, fit) if rereads else {}
    for chosen in fit:
        row = chosen.row
        if row.name in repeats:
            choice.excluded.append(RowResult.of(row, "repeated"))
            choice.repeats.append((row, repeats[row.name]))
        else:
            origin = (row.run_id, str(row.source_file))
            seq = choice.origins.setdefault(origin, len(choice.origins))
            choice.rows[seq, int(row.source_record or 0)] = chosen
    reject_tables = _ready_tables(conn, {chosen.row.run_id for chosen in fit})
    choice.beside = (*(chosen.table for chosen in fit), *reject_tables)
    return choice


def _repeats(conn: Conn, owner: Owner, ref: RowsRef, fit: Sequence[Chosen]) -> dict[str, StandIns]:
    rows: dict[TableName, list[RejectedRow]] = {}
    for chosen in fit:
        rows.setdefault(chosen.table, []).append(chosen.row)
    tables = dict.fromkeys((*rows, *_ready_tables(conn, {chosen.row.run_id for chosen in fit})))
    return find_repeats(conn, owner, ref.node, rows, tables)


def _find(conn: Conn, owner: Owner, ref: RowsRef, choice: Choice) -> list[Chosen]:
    """Each row once, whatever table it was chosen from."""
    found: dict[tuple[str, str], Chosen] = {}
    for number, (schema, name, ids) in enumerate(ref.tables):
        table = TableName(schema, name)
        require_quarantine(conn, table)
        rows = find_rows(conn, owner, table, ids)
        choice.excluded += map(RowResult.gone, sorted(set(ids) - {row.id for row in rows}))
        seen = dict(zip(ids, ref.revisions[number], strict=True)) if ref.revisions else {}
        for row in rows:
            found.setdefault(row.key, Chosen(table, row, seen.get(row.id)))
    return list(found.values())


def _ready_tables(conn: Conn, runs: Collection[str]) -> tuple[TableName, ...]:
    tables = tuple(table for table in tables_of_runs(conn, runs) if exists(conn, table.schema, table.table))
    for table in tables:
        require_quarantine(conn, table)
    return tables


def _why_not(chosen: Chosen, ref: RowsRef, replaced: Collection[str]) -> str | None:
    row = chosen.row
    if row.status == "replayed":
        return "already"
    if row.status in ("ignored", SUPERSEDED):
        return row.status
    if row.disposition != "dropped":
        # A result of the replay is called `loaded` as well.
        return "was_loaded" if row.disposition == "loaded" else row.disposition
    if row.run_id in replaced:
        return "replaced"
    if chosen.seen not in (None, row.revision):
        return "changed"
    if row.node != ref.node or row.row_from != ref.row_from or row.source_file is None or row.source_record is None:
        return "not_replayable"
    return None


class RejectedRowsReader:
    """One source whose rows come from quarantine. There are no load units."""

    def __init__(self, job: RunJob, ref: RowsRef) -> None:
        self._job, self._ref = job, ref
        self.choice = Choice()

    def read(self, target_run: TargetRun, target_runs: Sequence[TargetRun]) -> Reading | None:
        owner = Owner(self._job.tenant, self._job.pipeline.id)
        targets = [target for target in self._job.pipeline.targets() if target.id == self._ref.node]
        modes = [load_mode(target.load_mode) for target in targets]
        keeps_watermark = any(mode.keeps_watermark for mode in modes) and not self._ref.column
        self.choice = choose_rows(
            target_run.connection,
            owner,
            self._ref,
            self._job.run_id,
            rereads=keeps_watermark and not CONNECTORS[target_run.path.source.connector].keeps_order,
        )
        if not self.choice.rows:
            return None
        connection = self._job.connections[target_run.path.target.connection]
        return Reading(
            fields=self._fields(target_run.connection),
            origins=tuple(
                Origin(seq, name, _identity(run, name), is_unit=False)
                for (run, name), seq in self.choice.origins.items()
            ),
            parts=tuple(self._parts()),
            reader=RejectsReader(encrypt(connection)),
            records=len(self.choice.rows),
        )

    def _parts(self) -> Iterator[RejectsPart]:
        for table in self.choice.tables:
            rows = iter(
                (chosen.row.id, *position) for position, chosen in self.choice.rows.items() if chosen.table == table
            )
            while part := tuple(islice(rows, PART_ROWS)):
                yield RejectsPart(table, part)

    @translate()
    def _fields(self, conn: Conn) -> tuple[SourceField, ...]:
        """The fields as the runs that read the source saw them; those that nobody has noted are text."""
        runs = {chosen.row.run_id for chosen in self.choice.rows.values()}
        known = fields_of_runs(conn, runs, self._ref.node) if self._ref.row_from == "source" else ()
        names = {f.name for f in known}
        return (*known, *(SourceField(name, STRING) for name in self._names(conn) if name not in names))

    def _names(self, conn: Conn) -> list[str]:
        found: dict[str, None] = {}
        for table in self.choice.tables:
            ids = [chosen.row.id for chosen in self.choice.rows.values() if chosen.table == table]
            found |= dict.fromkeys(sorted(names_in(conn, table, ids)))
        return list(found)

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        return ()

    def nothing_new(self, source: Source) -> str:
        return "None of the rows can be loaded."

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Nothing was claimed."""

    def archive_failed(self, source: Source, reason: str) -> None:
        """Nothing was claimed."""

    def requeue(self, source: Source) -> None:
        """Nothing was claimed."""

    def interrupt(self) -> None:
        """What is read is small."""


def names_in(conn: Conn, table: TableName, ids: Collection[int]) -> set[str]:
    """The fields that these entries hold."""
    query = sql.SQL(
        'SELECT DISTINCT k FROM {}, jsonb_object_keys(coalesce("fixedRow", row)) AS k WHERE id = ANY({}::bigint[])'
    ).format(identifier_of(table), sql.Literal(list(ids)))
    return {name for (name,) in conn.execute(query).fetchall()} - ROW_FLAGS


def fields_of_runs(conn: Conn, runs: Collection[str], node: str) -> tuple[SourceField, ...]:
    """The fields that the source had in these runs, as their commit markers say. One that
    was of different types is text."""
    if not exists(conn, "flow_meta", "load_commits"):
        return ()
    rows = conn.execute(
        "SELECT source_fields FROM flow_meta.load_commits WHERE run_id = ANY(%s) AND node = %s ORDER BY token",
        [list(runs), node],
    ).fetchall()
    found: dict[str, SourceField] = {}
    for (stored,) in rows:
        for new in source_fields_of(stored):
            found[new.name] = new if found.get(new.name, new) == new else SourceField(new.name, STRING)
    return tuple(found.values())


def tables_of_runs(conn: Conn, runs: Collection[str]) -> list[TableName]:
    """The quarantine tables of these runs, as their commit markers tell: each validate node may have one of its own,
    and the newest version others."""
    if not exists(conn, "flow_meta", "load_commits"):
        return []
    rows = conn.execute(
        "SELECT DISTINCT t.name FROM flow_meta.load_commits AS c"
        " CROSS JOIN unnest(c.reject_tables) AS t(name)"
        " WHERE c.run_id = ANY(%s) AND c.kind <> 'replay' ORDER BY 1",
        [list(runs)],
    ).fetchall()
    return [TableName.parse(name) for (name,) in rows]


def runs_replaced(conn: Conn, owner: Owner, node: str, runs: Collection[str]) -> set[str]:
    """Those of the runs after which a load has replaced all that the target held: it has read their rows again, or
    these are wanted no more."""
    if not exists(conn, "flow_meta", "load_commits"):
        return set()
    rows = conn.execute(
        "WITH theirs AS (SELECT c.run_id, c.token FROM flow_meta.load_commits AS c WHERE c.run_id = ANY(%(runs)s)"
        "  AND c.node = %(node)s AND c.tenant = %(tenant)s AND c.pipeline = %(pipeline)s)"
        " SELECT t.run_id FROM theirs AS t WHERE t.token < ("
        "  SELECT max(n.token) FROM flow_meta.load_commits AS n WHERE n.tenant = %(tenant)s"
        "  AND n.pipeline = %(pipeline)s AND n.node = %(node)s AND n.token > (SELECT min(token) FROM theirs)"
        "  AND n.undone_by IS NULL"
        "  AND n.kind = 'load' AND n.load_mode = ANY(%(modes)s))",
        {
            "runs": list(runs),
            "node": node,
            "tenant": owner.tenant,
            "pipeline": owner.pipeline,
            "modes": [name for name, mode in LOAD_MODES.items() if mode.replaces_all_rows],
        },
    ).fetchall()
    return {run for (run,) in rows}


def _identity(run: str, name: str) -> str:
    """One for each origin: the same file may have been read by several runs."""
    return hashlib.sha256(f"rejected\n{run}\n{name}".encode()).hexdigest()
