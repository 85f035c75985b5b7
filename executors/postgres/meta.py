"""Flow's own tables in a target database: fences and commit markers (`flow_meta`), and the schemas of staging and
backups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from executors.errors import Transient
from executors.load_record import LoadCommit, Loaded, LoadKind, RunRef, TableIdentity
from executors.model import SourceState
from executors.postgres.client import translate
from executors.postgres.commit_rows import commit_of, row_of
from executors.postgres.ddl import Conn, body, create_table, ddl, ensure_schema, exists
from executors.postgres.meta_tables import INDEXES, TABLES
from executors.table_name import quoted

META, STAGING, BACKUPS = "flow_meta", "flow_staging", "flow_backups"


@translate()
def ensure_meta(conn: Conn) -> None:
    """Create missing schemas and tables of Flow."""
    with conn.transaction():
        if _is_complete(conn):
            return
    with ddl(conn):
        create_meta(conn)


def create_meta(conn: Conn) -> None:
    """Create the tables. Call it only inside `ddl`, or in a transaction that is rolled back."""
    for schema in (META, STAGING, BACKUPS):
        ensure_schema(conn, schema)
    for name, table in TABLES.items():
        if not exists(conn, META, name):
            columns = sql.SQL("{}, PRIMARY KEY ({})").format(body(table.columns), sql.SQL(table.key))
            create_table(conn, sql.Identifier(META, name), columns)
    for name, on in INDEXES.items():
        if not exists(conn, META, name):
            conn.execute(sql.SQL("CREATE INDEX {} ON {}").format(sql.Identifier(name), sql.SQL(on)))


def _is_complete(conn: Conn) -> bool:
    found = conn.execute(
        "SELECT to_regnamespace(%s) IS NOT NULL AND to_regnamespace(%s) IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM unnest(%s::text[]) AS r(name) WHERE to_regclass(r.name) IS NULL)",
        [STAGING, BACKUPS, [f"{META}.{name}" for name in (*TABLES, *INDEXES)]],
    ).fetchone()
    return bool(found and found[0])


@translate()
def find_commits(conn: Conn, run_id: str) -> list[LoadCommit]:
    """Return the markers of a run, one per target node that has committed."""
    query = "SELECT * FROM flow_meta.load_commits WHERE run_id = %s ORDER BY node"
    with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        return [commit_of(row) for row in cursor.execute(query, [run_id]).fetchall()]


@translate()
def last_commit_exists(conn: Conn, tenant: str, pipeline: str, node: str, run_id: str) -> bool:
    """Return whether the target still has the marker of the last commit that the control database records."""
    with conn.transaction():
        found = conn.execute(
            "SELECT 1 FROM flow_meta.load_commits WHERE run_id = %s AND node = %s AND tenant = %s AND pipeline = %s",
            [run_id, node, tenant, pipeline],
        ).fetchone()
    return found is not None


_HAS_READ = """({commit}.kind <> 'restore' AND (
    jsonb_array_length(coalesce({commit}.record -> 'sources', '[]')) = 0 OR EXISTS (
    SELECT FROM jsonb_array_elements({commit}.record -> 'sources') AS s WHERE s ->> 'source' <> ALL (%s)
    AND (jsonb_array_length({commit}.record -> 'sources') = 1 OR s -> 'files' ? f.sha256))))"""
"""Whether a commit has read the file `f` from a source that is not among the given ones, or that is not known."""

_FILES_LOADED = sql.SQL("""
SELECT DISTINCT ON (f.sha256) f.sha256, c.token, c.node, c.kind = 'undo'
FROM flow_meta.load_commits c CROSS JOIN unnest(c.files_done) AS f(sha256)
WHERE c.tenant = %s AND c.pipeline = %s AND c.undone_by IS NULL AND f.sha256 = ANY(%s)
AND (c.node = %s OR (c.node <> ALL(%s)
    AND ((c.target_schema, c.target_table) = (%s, %s) OR c.target_oid = %s)))
AND (%s::text[] = '{{}}' OR {read} OR (c.kind = 'restore' AND EXISTS (
    SELECT FROM flow_meta.load_commits AS l WHERE (l.tenant, l.pipeline, l.node) = (c.tenant, c.pipeline, c.node)
    AND l.undone_by IS NULL AND f.sha256 = ANY (l.files_done) AND {read_before})))
ORDER BY f.sha256, c.token DESC""").format(
    read=sql.SQL(_HAS_READ).format(commit=sql.Identifier("c")),
    read_before=sql.SQL(_HAS_READ).format(commit=sql.Identifier("l")),
)
"""A restore does not know the sources of the files that it has put back, but the loads that count again do."""


@translate()
def files_loaded(
    conn: Conn,
    tenant: str,
    pipeline: str,
    node: str,
    hashes: Collection[str],
    *,
    others: Collection[str],
    table: tuple[str, str],
    other_sources: Collection[str] = (),
) -> dict[str, Loaded]:
    """Return which of the given SHA-256 are in a commit of this node that no restore has undone.

    The files that the commit has read from `other_sources` alone do not count. A source that is not among them counts
    whatever its name, so that renaming a source node does not load rows twice.

    A node that is neither this one nor among the pipeline's `others` no longer exists: its loads of the same table
    count too, so that renaming a node does not load rows twice.
    """
    with conn.transaction():
        now = table_identity(conn, *table)
        rows = conn.execute(
            _FILES_LOADED,
            [tenant, pipeline, list(hashes), node, list(others), *table, now.oid, *([list(other_sources)] * 3)],
        ).fetchall()
    return {sha256: Loaded(token, by, is_undone) for sha256, token, by, is_undone in rows}


@translate()
def last_files(
    conn: Conn, tenant: str, pipeline: str, node: str, source: str | None = None
) -> tuple[int, frozenset[str]] | None:
    """Return token and files of the newest commit of this node that no restore has undone; None before the first.
    Commits of replays are ignored, because replayed rows have no file of their own. After a file was undone there are
    no files: the table has not the rows of all of them. With a `source`, only its files are returned."""
    with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            "SELECT * FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s AND node = %s"
            " AND undone_by IS NULL AND kind <> 'replay' ORDER BY token DESC, committed_at DESC LIMIT 1",
            [tenant, pipeline, node],
        ).fetchone()
    if row is None:
        return None
    commit = commit_of(row)
    if commit.kind is LoadKind.UNDO:
        return commit.token, frozenset()
    return commit.token, frozenset(commit.files_done if source is None else commit.files_of(source))


@translate()
def last_load(conn: Conn, tenant: str, pipeline: str, node: str) -> LoadCommit | None:
    """Return the newest load of this node from its sources that no restore has undone."""
    with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            "SELECT * FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s AND node = %s"
            " AND undone_by IS NULL AND kind = 'load' ORDER BY token DESC, committed_at DESC LIMIT 1",
            [tenant, pipeline, node],
        ).fetchone()
    return commit_of(row) if row else None


@translate()
def last_state(
    conn: Conn, tenant: str, pipeline: str, node: str, source: str, table: tuple[str, str]
) -> tuple[int, SourceState] | None:
    """Return the token of the newest load of this node from a source that no restore has undone, and the state of the
    source after it. Chunks of a history do not count. Return None if there is none, or if a new table of the same
    name has not the rows of that load."""
    if not exists(conn, META, "load_commits"):
        return None
    with conn.transaction(), conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(
            "SELECT * FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s AND node = %s"
            " AND undone_by IS NULL AND kind = 'load' AND record -> 'sources' @> %s"
            " AND NOT coalesce((record ->> 'is_part')::boolean, false)"
            " ORDER BY token DESC, committed_at DESC LIMIT 1",
            [tenant, pipeline, node, Jsonb([{"source": source}])],
        ).fetchone()
        now = table_identity(conn, *table)
    if row is None:
        return None
    commit = commit_of(row)
    if commit.table.oid != now.oid:
        return None
    state = next((one.state for one in commit.record.sources if one.source == source), None)
    return (commit.token, state) if state is not None else None


def columns_read(conn: Conn, run: RunRef) -> tuple[tuple[str, str], ...]:
    """Return the names and types of the columns that loads of this node have read, in the caller's transaction. Of
    several types of a column, the newest is returned."""
    rows = conn.execute(
        "SELECT DISTINCT ON (f ->> 0) f ->> 0, f ->> 1 FROM flow_meta.load_commits AS c"
        " CROSS JOIN jsonb_array_elements(c.source_fields) AS f"
        " WHERE c.tenant = %s AND c.pipeline = %s AND c.node = %s AND c.kind = 'load' AND c.undone_by IS NULL"
        " ORDER BY f ->> 0, c.token DESC",
        [run.tenant, run.pipeline, run.node],
    ).fetchall()
    return tuple((str(name), str(kind)) for name, kind in rows)


@translate()
def last_loaded_elsewhere(conn: Conn, tenant: str, pipeline: str, node: str, schema: str, table: str) -> str | None:
    """Return the table of the newest commit of this node if it is another table. A renamed table counts as the same."""
    with conn.transaction():
        row = conn.execute(
            "SELECT target_schema, target_table, target_oid FROM flow_meta.load_commits"
            " WHERE tenant = %s AND pipeline = %s AND node = %s"
            " ORDER BY token DESC, committed_at DESC LIMIT 1",
            [tenant, pipeline, node],
        ).fetchone()
        now = table_identity(conn, schema, table)
    then = TableIdentity(*row) if row else now
    if (then.schema, then.table) == (now.schema, now.table) or then.oid == now.oid:
        return None
    return f"{then.schema}.{then.table}"


def table_identity(conn: Conn, schema: str, table: str) -> TableIdentity:
    """Return the identity of the table of this name. A table that replaced another has the identity of that one."""
    row = conn.execute(
        "SELECT coalesce((SELECT i.first_oid FROM flow_meta.inherited_identities i WHERE i.oid = t.oid), t.oid)"
        " FROM (SELECT to_regclass(%s)::oid::bigint AS oid) AS t",
        [quoted(schema, table)],
    ).fetchone()
    return TableIdentity(schema, table, row[0] if row else None)


def inherit_identity(conn: Conn, oid: int, schema: str, table: str) -> None:
    """Give the table of this name, which has replaced the table `oid`, the identity of that table."""
    conn.execute(
        "WITH old AS (DELETE FROM flow_meta.inherited_identities WHERE oid = %(oid)s RETURNING first_oid)"
        " INSERT INTO flow_meta.inherited_identities AS i (oid, first_oid)"
        " VALUES (%(new)s::regclass::oid::bigint, coalesce((SELECT first_oid FROM old), %(oid)s))"
        " ON CONFLICT (oid) DO UPDATE SET first_oid = EXCLUDED.first_oid",
        {"oid": oid, "new": quoted(schema, table)},
    )


def find_runs(conn: Conn, run: RunRef, run_ids: Sequence[str]) -> Collection[str]:
    """Return which of these runs have a marker of this node, in the caller's transaction."""
    query = "SELECT run_id FROM flow_meta.load_commits WHERE run_id = ANY(%s) AND node = %s"
    return {run_id for (run_id,) in conn.execute(query, [list(run_ids), run.node]).fetchall()}


def find_commit(conn: Conn, run: RunRef) -> LoadCommit | None:
    """Return the marker of this run and node, read in the caller's transaction."""
    query = "SELECT * FROM flow_meta.load_commits WHERE run_id = %s AND node = %s"
    with conn.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, [run.run_id, run.node]).fetchone()
    return commit_of(row) if row else None


@translate()
def marker_of(conn: Conn, run: RunRef) -> LoadCommit:
    """Return the marker of a load that has just committed. Raises Transient `target.lost` if the server has lost it."""
    with conn.transaction():
        commit = find_commit(conn, run)
    if commit is None:
        raise Transient("target.lost", "The database no longer has the committed load.", node=run.node)
    return commit


@translate()
def add_hook_done(conn: Conn, run_id: str, node: str, hook: str) -> None:
    """Record in the marker of a load that one of its hooks is done, so that no later attempt runs it again."""
    with conn.transaction():
        conn.execute(
            "UPDATE flow_meta.load_commits SET hooks_done = array_append(hooks_done, %s)"
            " WHERE run_id = %s AND node = %s AND NOT %s = ANY (hooks_done)",
            [hook, run_id, node, hook],
        )


def write_commit(conn: Conn, run: RunRef, commit: LoadCommit) -> None:
    """Write the marker in the caller's transaction, so that it commits together with the rows.

    The time is that of the clock while the table is locked, so that the times of its loads are in order. A window of a
    stream replaces the marker of the window before it.
    """
    row = {"tenant": run.tenant, "pipeline": run.pipeline, **row_of(commit)}
    columns, values = map(sql.Identifier, row), map(sql.Placeholder, row)
    statement = sql.SQL("INSERT INTO flow_meta.load_commits ({}, committed_at) VALUES ({}, clock_timestamp())").format(
        sql.SQL(", ").join(columns), sql.SQL(", ").join(values)
    )
    conn.execute(statement + (_replacing(row) if run.is_window else sql.SQL("")), row)


def _replacing(row: Iterable[str]) -> sql.Composed:
    columns = map(sql.Identifier, (*row, "undone_by", "committed_at"))
    changes = sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(column) for column in columns)
    return sql.SQL(" ON CONFLICT (run_id, node) DO UPDATE SET {}").format(changes)
