"""Every code a diagnostic may have: how bad it is and what to do about it. A case in `tests/fixtures` shows each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ir.kinds import KindTable


@dataclass(frozen=True, slots=True)
class Code:
    name: str
    severity: Literal["error", "warning"]
    hint: str


def _error(name: str, hint: str) -> Code:
    return Code(name, "error", hint)


def _warning(name: str, hint: str) -> Code:
    return Code(name, "warning", hint)


_DOCUMENT = (
    _error("document.encoding", "Save the file as UTF-8."),
    _error("document.too_large", "Split the pipeline; a document holds one pipeline."),
    _error("document.too_many_faults", "Mend those that are shown first."),
    _error("document.too_costly", "Split the pipeline, or simplify its expressions, queries and JSON Schemas."),
    _error("document.too_deep", "No field of a pipeline needs that much nesting."),
    _error("document.syntax", "Mend the text at that place; nothing after it was read."),
    _error("document.repeated_key", "Keep one of them; the second would hide the first."),
    _error("number.not_finite", "JSON has no NaN and no infinity; write a number or leave the field out."),
    _error("number.not_exact", "Write it as text in quotes, so that no digit is lost."),
    _error("text.not_storable", "Take the character out; neither JSON nor PostgreSQL can carry it."),
    _error("value.null", "Leave the field out; an absent field has its default."),
    _error("value.not_json", "Write it as text in quotes."),
)

_STRUCTURE = (
    _error("field.unknown", "Take it out or correct its name."),
    _error("field.missing", "Add the field."),
    _error("value.type", "Write a value of that type."),
    _error("value.not_allowed", "Use one of the allowed values, in this very spelling."),
    _error("value.malformed", "Write it in the form that the message names."),
    _error("value.out_of_range", "Use a value within the bounds."),
    _error("value.length", "Make it fit."),
)

_GRAPH = (
    _error("id.repeated", "Give one of them another id."),
    _error("inputs.unknown", "Name a node of this pipeline."),
    _error("inputs.count", "A node reads from exactly one node."),
    _error("inputs.is_target", "Nothing reads from a target; read from the node before it."),
    _error("graph.cycle", "Take out one of the inputs, so that rows flow one way."),
    _error("node.feeds_nothing", "Let a node read from it, or remove it."),
    _error("validate.must_feed_target", "Move the validate node behind the last transform."),
)

_KINDS = (
    _error("kind.not_available", "Choose another kind; this one comes in a later release."),
    _error("connector.unknown", "Use one of the connectors listed."),
    _error("connector.use_sftp", "Use the connector sftp: ftp sends passwords and data in the clear."),
)

_NAMES = (
    _error("identifier.too_long", "Shorten it: PostgreSQL cuts longer names off without an error."),
    _error("identifier.empty", "Give it a name."),
    _error("identifier.reserved", "Choose another name; Flow keeps this one for itself."),
    _error("identifier.not_readable", "Read a table of your own, or a view that its owner made for that."),
    _error("table_name.malformed", 'Write schema.table; a name that holds a dot goes in quotes: "a.b"."c".'),
    _error("column.repeated", "Name each column once."),
    _error("column.unknown", "Use a column that the rows have at this point."),
    _warning("column.not_seen", "It may be kept if files with that column are to come."),
    _error("type.malformed", "Keep the precision within 1 to 1000 and the scale within 0 to the precision."),
)

_HOLDS = (
    _error("hold.limit_required", "Name at least one of maxDecreasePct, maxKeyLossPct and maxNullRateIncreasePct."),
    _error("hold.key_required", "Add a primary key to the table, or take maxKeyLossPct out."),
    _warning("hold.limit_unused", "Take it out, or replace all rows by truncate or blue_green."),
)

_MODES = (
    _error("upsert.key_required", "Name the columns that tell rows apart in upsertKey."),
    _error("upsert.key_unknown", "Use columns of the table."),
    _error("deduplicate.order_required", "Name the column whose highest value is the newest in orderBy."),
    _error("upsert.order_unknown", "Use a column of the table."),
    _error("upsert.order_unordered", "Use a column of a number, a date, a time stamp or a text."),
    _error("order.direction", "Write the column alone: the row with its highest value stays."),
    _error("upsert.key_covers_all", "Leave columns to update out of the key, or use append."),
    _error("upsert.key_not_unique", "Add a unique constraint over exactly these columns."),
    _error("blue_green.not_possible", "Change what stands in the way of one of the two, or use truncate or upsert."),
    _warning("blue_green.in_place", "It may be kept: readers are not held up, but a swap costs less."),
    _error("watermark.column_required", "Name the column that grows in watermarkColumn."),
    _error("watermark.column_unknown", "Use a column of the table."),
    _error("watermark.column_unordered", "Use a column of a whole or decimal number, a date, a time stamp or a text."),
    _warning("watermark.column_text", "Use a column of a number or a time, unless these texts sort as they grow."),
    _warning("watermark.column_nullable", "ALTER TABLE … ALTER COLUMN … SET NOT NULL, if it is never empty."),
    _error("watermark.lead_mismatch", "Take watermarkLead out, or follow a column of a date or a time stamp."),
    _error("watermark.lag_mismatch", "Write a duration for dates and times, a number for numbers, none for texts."),
    _error("cdc.source_required", "Name the stream in cdcSource."),
    _error("cdc.streaming_disabled", "Choose another load mode; docs/cdc-mirror.md says which, and what is missing."),
    _error("cdc.connector_missing", "Choose another load mode; docs/cdc-mirror.md says which, and what is missing."),
    _error("target.not_loadable", "Load a table of your own that can be written."),
    _error("target.loaded_twice", "Load the table from one target, or let all of them append or upsert."),
    _warning(
        "truncate.prefer_blue_green", "blue_green replaces the rows without blocking readers; truncate may be kept."
    ),
    _warning("target.empty_becomes_null", "Set emptyAsNull to false to keep them, or to true if that is meant."),
    _warning("target.field_unused", "It is kept, but this load mode does not use it."),
)

_VALIDATION = (
    _error("rule.id_repeated", "Give one of the rules another id, or remove it."),
    _error("bounds.required", "Give min, max or both."),
    _error("bounds.reversed", "Exchange min and max."),
    _error(
        "bounds.malformed", "Write numbers, dates (2025-01-31) or timestamps (2025-01-31T08:00:00), both of one kind."
    ),
    _error("regex.not_re2", "Use RE2 syntax: it has no look-around and no back-references."),
    _error("rule.limit_unused", "Let the rule skip or warn below its limit, or take the limit out."),
    _error("json_schema.malformed", "Write a JSON Schema of draft 2020-12."),
    _error("json_schema.not_allowed", "Write the schema out in one piece, with references that begin with #."),
    _error("quarantine.table_required", "Name the table, for example dlq.orders."),
    _error("quarantine.is_target", "Keep rejected rows in a table of their own."),
)

_SOURCES = (
    _error("source.connection_required", "Choose the stored connection that it reads from."),
    _error("postgres.table_or_query", "Give a table (schema and name) or a query, one of the two."),
    _error("query.malformed", "Write one SELECT as PostgreSQL reads it."),
    _error("query.not_allowed", "Write one plain SELECT that changes nothing and gives the same rows each time."),
    _error("query.function_not_allowed", "Take the function out, or let an admin allow it on the connection."),
    _error("query.role_not_allowed", "Connect as a role with fewer rights, or let an admin allow this one."),
    _error("path.not_inside", "Write a path below the workspace's folder, without .. and without a leading slash."),
    _error("pattern.malformed", "Correct the pattern."),
    _error("atomicity.folders", "Use three different folders, none of them the source's own."),
    _error("format.separators", "Use one character each, different from one another and no line break."),
    _error("encoding.unknown", "Use a name such as utf-8, utf-16, latin-1 or windows-1252."),
    _error("column.format_unused", "A format is for columns of type date, timestamp or timestamptz."),
)

_SCHEDULES = (
    _error("schedule.cron_malformed", "Write five fields: minute, hour, day of month, month, day of week."),
    _error("timezone.unknown", "Use a name of the tz database, such as Europe/Berlin or UTC."),
    _error("duration.malformed", "Write a whole number above 0 and a unit: 30s, 15m, 24h, 7d or 2w."),
)

_EXPRESSIONS = (
    _error("expression.malformed", "Write one expression over the columns, such as upper(trim(name))."),
    _error("expression.not_allowed", "Use columns, literals, operators and the functions that the help lists."),
    _error("expression.ambiguous", "Add parentheses, so that it reads one way only."),
)

_HOOKS = (
    _error("hook.when_unused", "Take `when` out, or use the load mode blue_green and a post-hook."),
    _error("hook.sql_malformed", "Write one statement as PostgreSQL reads it."),
    _error("hook.sql_not_one", "Give each statement a hook of its own."),
    _error("hook.sql_comment", "Take the comment out; the node has a description."),
    _error("hook.sql_not_allowed", "Do what changes rows in the pipeline itself; a hook looks after tables."),
    _error("hook.setting_not_listed", "Set one of those listed; they change how fast a load is, never what it does."),
    _error("hook.set_after_load", "Move it to preHook: it is set in the transaction of the load."),
    _error("hook.function_unknown", "Install the package that registers it, in the web process and in the workers."),
    _error("webhook.not_public", "Name a public https address; this machine and private networks are out of reach."),
    _error("webhook.address", "Name a connection (and a path), or write a bare https url without user or query."),
)

CODES: KindTable[Code] = KindTable(
    "diagnostic code",
    (
        (code.name, code)
        for family in (
            _DOCUMENT,
            _STRUCTURE,
            _GRAPH,
            _KINDS,
            _NAMES,
            _MODES,
            _HOLDS,
            _VALIDATION,
            _SOURCES,
            _SCHEDULES,
            _EXPRESSIONS,
            _HOOKS,
        )
        for code in family
    ),
)
