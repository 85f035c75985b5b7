"""Counts and deletes the rows that a pipeline has appended to a table from one file. Rows are found by the columns that
loads fill: the hash of their file, and the run that last wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from psycopg import errors, sql

from executors.errors import Terminal
from executors.load_record import LoadKind
from executors.postgres.ddl import Conn, exists
from executors.postgres.inspect import inspect_target
from executors.postgres.meta import META, table_identity
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owner
from executors.postgres.staging import one_number
from executors.stage_plan import FILLED, FLOW_RUN, SOURCE_FILE_HASH
from executors.table_name import TableName, quoted
from ir.words import counted

APPEND = "append"

_COMMITS = """
SELECT c.run_id, c.kind, c.load_mode, c.rows_inserted, coalesce((c.record -> 'input' ->> 'rows_grouped')::bigint, 0)
FROM flow_meta.load_commits c
WHERE c.tenant = %(tenant)s AND c.pipeline = %(pipeline)s AND c.undone_by IS NULL AND %(sha256)s = ANY (c.files_done)
AND ((c.target_schema, c.target_table) = (%(schema)s, %(table)s) OR c.target_oid = %(oid)s)
AND c.run_id <> %(undone_by)s ORDER BY c.token"""

_RUNS = """
SELECT c.run_id FROM flow_meta.load_commits c WHERE c.tenant = {tenant} AND c.pipeline = {pipeline}
AND ((c.target_schema, c.target_table) = ({schema}, {table}) OR c.target_oid = {oid})"""

_OTHER_MODES = """
SELECT c.load_mode FROM flow_meta.load_commits c
WHERE c.tenant = %s AND c.pipeline = %s AND c.run_id = ANY (%s) AND c.load_mode <> %s ORDER BY c.token LIMIT 1"""

_REPLAYS = "AND c.kind = 'replay' AND c.undone_by IS NULL"

_DELETED_BEFORE = """
SELECT r.key, sum(r.value::bigint)::bigint FROM flow_meta.load_commits c
CROSS JOIN jsonb_each_text(c.record -> 'undo' -> 'rows_of_runs') AS r
WHERE c.tenant = %s AND c.pipeline = %s AND c.kind = 'undo' AND c.undone_by IS NULL AND r.key = ANY (%s) GROUP BY 1"""

_PARTS = """
WITH RECURSIVE parts (oid) AS (
    SELECT %s::regclass::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts p ON p.oid = i.inhparent
)"""
"""The table with its partitions and the tables that inherit from it, whose rows a DELETE reaches too."""

_CASCADES = """
SELECT DISTINCT k.conrelid::regclass::text, k.conname, k.confdeltype = 'c' FROM pg_constraint k
WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid IN (SELECT oid FROM parts)
AND k.confdeltype IN ('c', 'n', 'd') ORDER BY 1, 2"""

_TRIGGERS = """
SELECT DISTINCT g.tgname FROM pg_trigger g WHERE g.tgrelid IN (SELECT oid FROM parts) AND NOT g.tgisinternal
AND g.tgenabled IN ('O', 'A') AND g.tgtype & 8 = 8 ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of all files that a run has inserted, less those that were deleted with other files, and how many of
    them the table has."""

    run_id: str
    inserted: int
    found: int


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file in a table: `rows` were loaded by the pipeline and would be deleted, `others` have the same
    bytes as their source but were last written by other pipelines. `runs` are those that have loaded the file.
    `unattributed` rows were replayed from quarantine without the hash of their file. `triggers` run when rows are
    deleted."""

    table: str
    rows: int
    runs: tuple[RunRows, ...] = ()
    others: int = 0
    unattributed: int = 0
    triggers: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """The number of rows of these runs that the table no longer has as they were written."""
        return sum(max(run.inserted - run.found, 0) for run in self.runs)


@dataclass(frozen=True, slots=True)
class FileOf:
    """A file that a pipeline has loaded into a table."""

    owner: Owner
    table: TableName
    sha256: str
    oid: int | None
    undone_by: str = ""
    """The run that undoes the file. Another target of it may have deleted the rows of this table already."""

    @property
    def values(self) -> Mapping[str, object]:
        return {
            "tenant": self.owner.tenant,
            "pipeline": self.owner.pipeline,
            "sha256": self.sha256,
            "schema": self.table.schema,
            "table": self.table.table,
            "oid": self.oid,
            "undone_by": self.undone_by,
        }


def has_loads(conn: Conn, owner: Owner, table: TableName, sha256: str) -> bool:
    """Return whether a load of the file into the table counts, so that its rows could be deleted."""
    if not exists(conn, META, "load_commits"):
        return False
    commits = _commits(conn, _file_of(conn, owner, table, sha256))
    return bool(commits) and commits[-1][1] != LoadKind.UNDO


def count_file_rows(conn: Conn, owner: Owner, table: TableName, sha256: str, undone_by: str = "") -> FileRows:
    """Count the rows of a file, in the caller's transaction, which may be one of the run `undone_by`. Raises Terminal
    where deleting them would not restore the table to its state without the file."""
    if not exists(conn, META, "load_commits"):
        raise _not_loaded(table)
    file = replace(_file_of(conn, owner, table, sha256), undone_by=undone_by)
    commits = _commits(conn, file)
    _require_appended(table, commits)
    _require_columns(conn, table)
    require_no_cascade(conn, table)
    # A policy would hide rows; with this setting it raises an error.
    conn.execute("SET LOCAL row_security = off")
    _require_own_rows(conn, file)
    relation = identifier_of(table).as_string(conn)
    return FileRows(
        str(table),
        rows=_count(conn, file, _is_of_file(file)),
        runs=_runs(conn, file, commits),
        others=_count(conn, file, sql.SQL("{} AND NOT {}").format(_has_bytes(file), _is_of_runs(file))),
        unattributed=_count(conn, file, _is_unattributed(file)),
        triggers=tuple(name for (name,) in conn.execute(f"{_PARTS}{_TRIGGERS}", [relation]).fetchall()),
    )


def delete_file_rows(conn: Conn, owner: Owner, table: TableName, sha256: str, node: str) -> dict[str, int]:
    """Delete the rows of a file in the caller's transaction; return their numbers by run. The caller has locked the
    table and counted the rows. Raises Terminal if rows of other tables refer to them."""
    file = _file_of(conn, owner, table, sha256)
    statement = sql.SQL(
        "WITH gone AS (DELETE FROM {} AS t WHERE {} RETURNING t.{}::text AS run)"
        " SELECT run, count(*) FROM gone GROUP BY 1"
    ).format(identifier_of(table), _is_of_file(file), sql.Identifier(FLOW_RUN))
    try:
        deleted: dict[str, int] = dict(conn.execute(statement).fetchall())
        conn.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except errors.ForeignKeyViolation as error:
        raise _referenced(table, node, error) from error
    if left := _count(conn, file, _is_of_file(file)):
        raise Terminal(
            "undo.rows_survived",
            f"{counted(left, 'row')} of {table} could not be deleted because a trigger or a rule prevents it. Nothing "
            "was changed.",
            node=node,
            hint="Check the DELETE triggers and rules of the table.",
        )
    return deleted


# --- what is refused ---------------------------------------------------------------------------------------------

_INSTEAD = {
    "truncate": "Each load replaces all rows. Restore a backup, or run the pipeline without the file.",
    "blue_green": "Each load replaces all rows. Restore a backup, or run the pipeline without the file.",
    "upsert": "Its rows have replaced earlier values, which the table no longer has. Restore a backup of the table.",
    "incremental_watermark": "The watermark is past its rows. Restore a backup of the table and the watermark.",
    "cdc_mirror": "Its changes have replaced earlier values, which the table no longer has. Restore a backup of the "
    "table.",
}


def refuse_mode(mode: str, node: str | None = None) -> Terminal:
    """Return the refusal of a load mode whose loads cannot be undone by deleting rows."""
    return Terminal(
        "undo.load_mode",
        f"A file that was loaded with load mode {mode} cannot be undone.",
        node=node,
        hint=_INSTEAD.get(mode, "Restore a backup of the table."),
    )


Commit = tuple[str, str, str | None, int, int]
"""The run, the kind, the load mode, the inserted rows, and the rows that went into groups less one for each group."""


def _require_appended(table: TableName, commits: list[Commit]) -> None:
    if not commits:
        raise _not_loaded(table)
    if commits[-1][1] == LoadKind.UNDO:
        raise Terminal(
            "undo.done",
            f"The file was undone already: {table} has none of its rows from this pipeline.",
            hint="To load it again, choose Load again.",
        )
    for _, _, mode, _, grouped in commits:
        if mode not in (None, APPEND):
            raise refuse_mode(str(mode))
        if grouped:
            raise Terminal(
                "undo.aggregated",
                f"The rows of {table} were aggregated: one row may stand for rows of several files.",
                hint="Restore a backup of the table, or load the other files again into an empty table.",
            )


def _require_own_rows(conn: Conn, file: FileOf) -> None:
    """Refuse rows that a replay has written in another load mode: they may have replaced rows of other files."""
    query = sql.SQL("SELECT DISTINCT t.{}::text FROM {} AS t WHERE {}").format(
        sql.Identifier(FLOW_RUN), identifier_of(file.table), _is_of_file(file)
    )
    runs = [run for (run,) in conn.execute(query).fetchall()]
    found = conn.execute(_OTHER_MODES, [file.owner.tenant, file.owner.pipeline, runs, APPEND]).fetchone()
    if found is not None:
        raise refuse_mode(found[0])


def _not_loaded(table: TableName) -> Terminal:
    return Terminal(
        "undo.not_loaded",
        f"This pipeline has not loaded the file into {table}, or a restored backup has undone the load.",
        hint="There is nothing to undo.",
    )


def _require_columns(conn: Conn, table: TableName) -> None:
    dest = inspect_target(conn, table.schema, table.table)
    if dest is None:
        raise Terminal("undo.table_gone", f"{table} does not exist any more.", hint="There is nothing to undo.")
    if missing := [name for name in (SOURCE_FILE_HASH, FLOW_RUN) if dest.column(name) is None]:
        statement = ", ".join(f"ADD COLUMN {name} {FILLED[name]}" for name in missing)
        raise Terminal(
            "undo.columns_missing",
            f"{table} has no column {' and no column '.join(missing)}, so the rows of the file cannot be "
            "distinguished from others.",
            hint="Restore a backup of the table. To undo files that are loaded from now on: ALTER TABLE "
            f"{quoted(table.schema, table.table)} {statement};",
        )


def require_no_cascade(conn: Conn, table: TableName) -> None:
    """Refuse a table of which deleted rows would change others, by foreign keys."""
    found = conn.execute(f"{_PARTS}{_CASCADES}", [identifier_of(table).as_string(conn)]).fetchall()
    if found:
        keys = ", ".join(
            f"{key!r} of {other} ({'deletes' if is_delete else 'changes'} its rows)" for other, key, is_delete in found
        )
        raise Terminal(
            "undo.cascades",
            f"Deleting rows of {table} would also change other tables, by foreign keys: {keys}.",
            hint="Restore a backup of the table, or change the foreign keys to ON DELETE NO ACTION.",
        )


def _referenced(table: TableName, node: str, error: errors.ForeignKeyViolation) -> Terminal:
    diag = error.diag
    # The driver's text quotes values of the row, and a logged traceback prints the whole chain.
    error.args = (f"SQLSTATE {error.sqlstate}",)
    return Terminal(
        "undo.referenced",
        f"{diag.schema_name}.{diag.table_name} refers, by its foreign key {diag.constraint_name!r}, to rows of {table} "
        "that came from this file. Nothing was changed.",
        node=node,
        hint="Delete the rows that refer to them first.",
    )


# --- the rows ----------------------------------------------------------------------------------------------------


def _file_of(conn: Conn, owner: Owner, table: TableName, sha256: str) -> FileOf:
    return FileOf(owner, table, sha256, table_identity(conn, table.schema, table.table).oid)


def _commits(conn: Conn, file: FileOf) -> list[Commit]:
    return conn.execute(_COMMITS, file.values).fetchall()


def _has_bytes(file: FileOf) -> sql.Composed:
    return sql.SQL("t.{} = {}").format(sql.Identifier(SOURCE_FILE_HASH), sql.Literal(file.sha256))


def _is_of_runs(file: FileOf, which: str = "") -> sql.Composed:
    """Return the condition for rows that the pipeline has written last. Literals, because with parameters psycopg would
    interpret a % in the name of a table."""
    values = {name: sql.Literal(value) for name, value in file.values.items() if name != "sha256"}
    runs = sql.SQL(f"{_RUNS} {which}").format(**values)
    return sql.SQL("coalesce(t.{}::text IN ({}), false)").format(sql.Identifier(FLOW_RUN), runs)


def _is_of_file(file: FileOf) -> sql.Composed:
    return sql.SQL("{} AND {}").format(_has_bytes(file), _is_of_runs(file))


def _is_unattributed(file: FileOf) -> sql.Composed:
    return sql.SQL("t.{} IS NULL AND {}").format(sql.Identifier(SOURCE_FILE_HASH), _is_of_runs(file, _REPLAYS))


def _count(conn: Conn, file: FileOf, condition: sql.Composable) -> int:
    return one_number(
        conn, sql.SQL("SELECT count(*) FROM {} AS t WHERE {}").format(identifier_of(file.table), condition)
    )


def _runs(conn: Conn, file: FileOf, commits: list[Commit]) -> tuple[RunRows, ...]:
    """Return the loads of the file. A run may have loaded other files too, so the rows of all of them are compared."""
    inserted: dict[str, int] = {}
    for run_id, kind, _, rows, _ in commits:
        if kind == LoadKind.LOAD:
            inserted[run_id] = inserted.get(run_id, 0) + rows
    gone: dict[str, int] = dict(
        conn.execute(_DELETED_BEFORE, [file.owner.tenant, file.owner.pipeline, list(inserted)]).fetchall()
    )
    query = sql.SQL(
        "SELECT t.{run}::text, count(*) FROM {table} AS t WHERE t.{run}::text = ANY({runs}) GROUP BY 1"
    ).format(run=sql.Identifier(FLOW_RUN), table=identifier_of(file.table), runs=sql.Literal(list(inserted)))
    found: dict[str, int] = dict(conn.execute(query).fetchall())
    return tuple(RunRows(run, rows - gone.get(run, 0), found.get(run, 0)) for run, rows in inserted.items())
