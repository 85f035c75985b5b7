"""The codes of diagnostics of manifests, beyond those of documents."""

from __future__ import annotations

from ir.codes import Code
from ir.kinds import KindTable

_CODES = (
    Code(
        "manifest.project_missing",
        "error",
        'Add flow.toml with [project] and name = "…", or name the folder that contains it.',
    ),
    Code("manifest.too_many", "error", "Split the project into several projects."),
    Code("manifest.duplicate_id", "error", "Keep one of them, or give one of them another id."),
    Code("manifest.id_unusable", "error", "Give the entry a shorter id, or write the pipeline as a document."),
    Code("manifest.table_unusable", "error", "Write each table once, as table or schema.table."),
    Code("manifest.tables_unsupported", "error", "Remove tables, and define in config what the source reads."),
    Code("manifest.table_required", "error", "Set destination.table, or list tables."),
    Code(
        "manifest.table_unused",
        "error",
        "Remove destination.table: each table keeps its name in the destination.",
    ),
    Code("manifest.timezone_unused", "error", "Remove timezone, or write the schedule as a cron expression."),
    Code(
        "manifest.schedule_option_unused",
        "error",
        "Write it into the schedule itself, or write the schedule as text.",
    ),
    Code("manifest.secret_in_text", "error", 'Write { env = "NAME" } and set that variable where you apply.'),
    Code("manifest.secret_choice", "error", "Declare the one that the connection uses, and remove the other."),
    Code("manifest.env_refused", "error", "Use a variable of your own. Those of Flow hold its keys."),
)
MANIFEST_CODES: KindTable[Code] = KindTable("manifest code", ((code.name, code) for code in _CODES))
