"""Selects the rejected rows that a replay or a fix can process, and determines their fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from psycopg import sql

from executors.model import RowsRef, SourceField
from executors.postgres.client import translate
from executors.postgres.commit_rows import source_fields_of
from executors.postgres.ddl import Conn, exists
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_table import require_quarantine
from executors.postgres.quarantined import Owner, find_rows
from executors.postgres.reject_reader import PART_ROWS, ROW_FLAGS, RejectsPart
from executors.postgres.repeated_rejects import find_repeats
from executors.postgres.superseding import SUPERSEDED
from executors.reading import united_fields
from executors.rejected_rows import Choice, Chosen, RejectedRow, RowResult, StandIns
from executors.table_name import TableName
from ir.load_modes import LOAD_MODES
from ir.types import STRING


@translate()
def choose_rows(
    conn: Conn, owner: Owner, ref: RowsRef, run: str, *, rereads: bool = False, sources: Collection[str] = ()
) -> Choice:
    """Return the chosen rows that `run` can process, and those that it cannot. Raises Terminal `quarantine.unusable`.

    `rereads` means that runs read rows again that earlier runs have read. `sources` are the source nodes of a target of
    united rows.
    """
    choice = Choice()
    found = _find(conn, owner, ref, choice)
    replaced = runs_replaced(conn, owner, ref.node, {chosen.row.run_id for chosen in found})
    fit: list[Chosen] = []
    for chosen in found:
        if reason := "fixed" if chosen.row.fix_run == run else _why_not(chosen, ref, replaced, sources):
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
            origin = (row.run_id, str(row.source_node) if sources else "", str(row.source_file))
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
    """Return each row once, even if it was chosen from several tables."""
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


def _why_not(chosen: Chosen, ref: RowsRef, replaced: Collection[str], sources: Collection[str]) -> str | None:
    row = chosen.row
    if row.status == "replayed":
        return "already"
    if row.status in ("ignored", SUPERSEDED):
        return row.status
    if row.disposition != "dropped":
        # The result `loaded` also exists for replays, so the disposition gets another name.
        return "was_loaded" if row.disposition == "loaded" else row.disposition
    if row.run_id in replaced:
        return "replaced"
    if chosen.seen not in (None, row.revision):
        return "changed"
    if row.node != ref.node or row.row_from != ref.row_from or row.source_file is None or row.source_record is None:
        return "not_replayable"
    if sources and row.source_node not in sources:
        return "not_replayable"
    return None


def parts_of(choice: Choice) -> Iterator[RejectsPart]:
    """Yield the rows in parts, each of one table, for tasks to read."""
    for table, rows in choice.by_table.items():
        entries = iter((row.id, *position) for position, row in rows.items())
        while part := tuple(islice(entries, PART_ROWS)):
            yield RejectsPart(table, part)


@translate()
def fields_of(conn: Conn, choice: Choice, ref: RowsRef, source: str = "") -> tuple[SourceField, ...]:
    """Return the fields as read by the runs of these rows, from one source node if given. Fields without a record are
    text."""
    runs = {chosen.row.run_id for chosen in choice.rows.values()}
    known = fields_of_runs(conn, runs, ref.node, source) if ref.row_from == "source" else ()
    names = {field.name for field in known}
    return (*known, *(SourceField(name, STRING) for name in _names(conn, choice) if name not in names))


def _names(conn: Conn, choice: Choice) -> list[str]:
    found: dict[str, None] = {}
    for table, rows in choice.by_table.items():
        found |= dict.fromkeys(sorted(names_in(conn, table, [row.id for row in rows.values()])))
    return list(found)


def names_in(conn: Conn, table: TableName, ids: Collection[int]) -> set[str]:
    """Return the names of the fields in these entries."""
    query = sql.SQL(
        'SELECT DISTINCT k FROM {}, jsonb_object_keys(coalesce("fixedRow", row)) AS k WHERE id = ANY({}::bigint[])'
    ).format(identifier_of(table), sql.Literal(list(ids)))
    return {name for (name,) in conn.execute(query).fetchall()} - ROW_FLAGS


def fields_of_runs(conn: Conn, runs: Collection[str], node: str, source: str = "") -> tuple[SourceField, ...]:
    """Return the fields in these runs, of one source node if given, from their commit markers. A field with different
    types becomes text."""
    if not exists(conn, "flow_meta", "load_commits"):
        return ()
    rows = conn.execute(
        "SELECT source_fields, record -> 'sources' FROM flow_meta.load_commits WHERE run_id = ANY(%s) AND node = %s"
        " ORDER BY token",
        [list(runs), node],
    ).fetchall()
    return united_fields(source_fields_of(_stored_of(stored, sources or [], source)) for stored, sources in rows)


def _stored_of(
    stored: Sequence[tuple[str, str, bool]], sources: Sequence[Mapping[str, Any]], source: str
) -> Sequence[tuple[str, str, bool]]:
    own = next((one["fields"] for one in sources if one["source"] == source), None)
    return stored if own is None or len(sources) < 2 else own


def tables_of_runs(conn: Conn, runs: Collection[str]) -> list[TableName]:
    """Return the quarantine tables of these runs from their commit markers: each validate node may have its own table,
    and the newest version of the pipeline may use others."""
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
    """Return the runs after which a load replaced all rows of the target: it has read their rows again, or those rows
    are no longer needed."""
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
