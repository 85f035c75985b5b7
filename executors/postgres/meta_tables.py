"""The definitions of Flow's own tables in a target database: columns, keys, indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetaTable:
    """A table of Flow's own: the definitions of its columns by name, and its primary key."""

    columns: Mapping[str, str]
    key: str


TABLES = {
    "fences": MetaTable(
        {
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "node": "text NOT NULL",
            "token": "bigint NOT NULL",
            "raised_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="tenant, pipeline, node",
    ),
    "load_commits": MetaTable(
        {
            "run_id": "text NOT NULL",
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "node": "text NOT NULL",
            "attempt": "integer NOT NULL",
            "token": "bigint NOT NULL",
            "kind": "text NOT NULL",
            "load_mode": "text",
            "target_schema": "text NOT NULL",
            "target_table": "text NOT NULL",
            "target_oid": "bigint",
            "rows_staged": "bigint NOT NULL",
            "rows_inserted": "bigint NOT NULL",
            "rows_updated": "bigint NOT NULL",
            "rows_unchanged": "bigint NOT NULL",
            "rows_deleted": "bigint NOT NULL",
            "rows_replaced": "bigint NOT NULL",
            "rows_suppressed": "bigint NOT NULL",
            "rows_older": "bigint NOT NULL",
            "rows_below_bound": "bigint NOT NULL",
            "rows_read_again": "bigint NOT NULL",
            "rows_ahead": "bigint NOT NULL",
            "rows_differing": "bigint NOT NULL",
            "rows_doubtful": "bigint NOT NULL",
            "rows_removed": "bigint NOT NULL",
            "quarantine_rows": "bigint NOT NULL",
            "quarantine_entries": "bigint NOT NULL",
            "watermark_column": "text",
            "watermark_type": "text",
            "watermark_value": "text",
            "read_from": "text",
            "reject_tables": "text[] NOT NULL",
            "superseded_tables": "text[] NOT NULL",
            "source_fields": "jsonb NOT NULL",
            "record": "jsonb NOT NULL",
            "hooks_done": "text[] NOT NULL DEFAULT '{}'",
            "files_done": "text[] NOT NULL DEFAULT '{}'",
            "undone_by": "text",
            "committed_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="run_id, node",
    ),
    "inherited_identities": MetaTable({"oid": "bigint NOT NULL", "first_oid": "bigint NOT NULL"}, key="oid"),
    "pipeline_watermarks": MetaTable(
        {
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "target_schema": "text NOT NULL",
            "target_table": "text NOT NULL",
            "id": "bigint GENERATED ALWAYS AS IDENTITY",
            "column_name": "text NOT NULL",
            "type": "text NOT NULL",
            "value": "text NOT NULL",
            "revision": "bigint NOT NULL DEFAULT 1",
            "known_from": "text",
            "hashed": "jsonb",
            "changed_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="tenant, pipeline, target_schema, target_table",
    ),
    "watermark_boundary_rows": MetaTable(
        {"watermark": "bigint NOT NULL", "hash": "bytea NOT NULL", "value": "text NOT NULL", "n": "bigint NOT NULL"},
        key="watermark, hash",
    ),
    "watermark_changes": MetaTable(
        {
            "id": "bigint GENERATED ALWAYS AS IDENTITY",
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "target_schema": "text NOT NULL",
            "target_table": "text NOT NULL",
            "changed_at": "timestamptz NOT NULL DEFAULT now()",
            "action": "text NOT NULL",
            "changed_by": "text",
            "run_id": "text",
            "reason": "text NOT NULL",
            "column_name": "text NOT NULL",
            "old_value": "text",
            "new_value": "text",
        },
        key="tenant, pipeline, target_schema, target_table, id",
    ),
    "backups": MetaTable(
        {
            "run_id": "text NOT NULL",
            "node": "text NOT NULL",
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "target_schema": "text NOT NULL",
            "target_table": "text NOT NULL",
            "columns": "jsonb NOT NULL",
            "n_rows": "bigint NOT NULL",
            "token": "bigint NOT NULL",
            "watermark": "jsonb",
            "undone": "text[] NOT NULL DEFAULT '{}'",
            "taken_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="run_id, node",
    ),
    "samples": MetaTable(
        {
            "id": "bigint GENERATED ALWAYS AS IDENTITY",
            "tenant": "uuid NOT NULL",
            "pipeline": "text NOT NULL",
            "node": "text NOT NULL",
            "run_id": "text NOT NULL",
            "kind": "text NOT NULL DEFAULT 'load'",
            "source_file": "text",
            "source_record": "bigint",
            "row": "jsonb NOT NULL",
            "columns": "text[]",
            "types": "text[]",
            "taken_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="tenant, pipeline, node, id",
    ),
    "replay_results": MetaTable(
        {
            "run_id": "text NOT NULL",
            "node": "text NOT NULL",
            "place": "integer NOT NULL",
            "entry": "bigint NOT NULL",
            "row_run": "text",
            "row_id": "text",
            "source_file": "text",
            "source_record": "bigint",
            "result": "text NOT NULL",
            "rules": "text[] NOT NULL DEFAULT '{}'",
            "told_at": "timestamptz NOT NULL DEFAULT now()",
        },
        key="run_id, node, place",
    ),
    "backup_ties": MetaTable(
        {
            "run_id": "text NOT NULL",
            "node": "text NOT NULL",
            "hash": "bytea NOT NULL",
            "value": "text NOT NULL",
            "n": "bigint NOT NULL",
        },
        key="run_id, node, hash",
    ),
}

INDEXES = {
    "load_commits_target_idx": "flow_meta.load_commits (tenant, pipeline, node, token)",
    "replay_results_result_idx": "flow_meta.replay_results (run_id, result, place)",
}
