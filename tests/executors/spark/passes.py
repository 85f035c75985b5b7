"""Runs one pass of a small path, from real files to staging tables in the test's warehouse."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from psycopg import sql

from executors.destinations.postgres.staging import PostgresStagingArea
from executors.formats.files import LOCAL_FILES
from executors.model import Connection, FileScan, PassResult, RulePlan, SourceFile, StageColumn
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.staging import StagingTables, create_staging, drop_staging, staging_tables
from executors.reading import read_files
from executors.secrets import encrypt
from executors.spark.columns import compile_path
from executors.spark.one_pass import PassPlan, Way, run_pass
from executors.spark.scan import scan_files
from executors.spark.session import RunSession
from ir.pipeline import Path


@dataclass
class Staged:
    """The staged rows of a pass, from its successful tasks: rows in source order, rejects, and the result."""

    result: PassResult
    rows: list[tuple[Any, ...]]
    rejects: list[dict[str, Any]]

    def violations(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for rule in (rule for task in self.result.tasks for rule in task.rules):
            counts[f"{rule.node}/{rule.rule_id}"] = counts.get(f"{rule.node}/{rule.rule_id}", 0) + rule.violations
        return counts


def scan_paths(run_session: RunSession, path: Path, files: Sequence[FilePath]) -> list[FileScan]:
    found = [(file, file.stat()) for file in files]
    return scan_files(
        run_session,
        path.source,
        [SourceFile(seq, str(f), f.name, stat.st_size, stat.st_mtime_ns) for seq, (f, stat) in enumerate(found)],
        LOCAL_FILES,
    )


def stage(
    run_session: RunSession,
    warehouse: Connection,
    path: Path,
    files: Sequence[FilePath],
    *,
    stage_columns: Sequence[StageColumn] | None = None,
    way: Way | None = None,
) -> Staged:
    """Scan, plan and run one pass. By default the staging table has the working columns with their types."""
    reading = read_files(path.source, scan_paths(run_session, path, files), LOCAL_FILES)
    compiled = compile_path(run_session, path, reading.fields)
    columns = stage_columns or [StageColumn(field.name, field.type) for field in compiled.fields]
    rules = tuple(RulePlan(v.id, f"r{n}", rule) for v in path.validates for n, rule in enumerate(v.row_level))
    tables = staging_tables(str(uuid.uuid4()), path.target.id, 1)
    with connect(warehouse, autocommit=True) as connection:
        ensure_meta(connection)
        create_staging(connection, tables, columns)
        try:
            plan = PassPlan(
                path,
                reading,
                compiled,
                tuple(columns),
                rules,
                path.target.on_type_mismatch,
                tables.run_id,
            )
            staging = PostgresStagingArea(tables, encrypt(warehouse))
            return _collect(connection, plan, tables, run_pass(run_session, plan, staging, way=way))
        finally:
            drop_staging(connection, tables)


def _collect(connection: Any, plan: PassPlan, tables: StagingTables, result: PassResult) -> Staged:
    names = sql.SQL(", ").join(sql.Identifier(column.name) for column in plan.stage_columns)
    good = sql.SQL("SELECT {} FROM {} WHERE _flow_task = ANY(%s) ORDER BY _flow_file, _flow_record").format(
        names, tables.good_identifier
    )
    rejects = sql.SQL(
        "SELECT node, rule_id, severity, disposition, record, row FROM {} WHERE _flow_task = ANY(%s)"
        " ORDER BY file, record, rule_id"
    ).format(tables.rejects_identifier)
    keys = ("node", "rule", "severity", "disposition", "record", "row")
    found = connection.execute(rejects, [result.winners]).fetchall()
    return Staged(
        result,
        connection.execute(good, [result.winners]).fetchall(),
        [dict(zip(keys, (*row[:5], json.loads(row[5])), strict=True)) for row in found],
    )
