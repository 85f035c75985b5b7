"""The codes of all diagnostics, with their severity and hint. A case in `tests/fixtures` shows each."""

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
    _error("document.too_large", "Split the pipeline. A document contains one pipeline."),
    _error("document.too_many_faults", "Fix the errors that are shown first."),
    _error("document.too_costly", "Split the pipeline, or simplify its expressions, queries and JSON Schemas."),
    _error("document.too_deep", "Reduce the nesting."),
    _error("document.syntax", "Correct the text at that position. The rest was not read."),
    _error("document.repeated_key", "Remove one of them. The second would hide the first."),
    _error("number.not_finite", "JSON has no NaN or infinity. Write a number or omit the field."),
    _error("number.not_exact", "Write it as text in quotes to keep all digits."),
    _error("text.not_storable", "Remove the character. JSON and PostgreSQL cannot store it."),
    _error("value.null", "Omit the field. It then has its default value."),
    _error("value.not_json", "Write it as text in quotes."),
)

_STRUCTURE = (
    _error("field.unknown", "Remove it or correct its name."),
    _error("field.missing", "A value is required. Add the field."),
    _error("value.empty", "A value is required. Enter one."),
    _error("value.type", "Write a value of that type."),
    _error("value.not_allowed", "Use one of the allowed values with the exact spelling."),
    _error("value.malformed", "Use the format named in the message."),
    _error("value.out_of_range", "Use a value within the bounds."),
    _error("value.length", "Shorten it or make it longer."),
)

_GRAPH = (
    _error("id.repeated", "Rename one of them."),
    _error("inputs.unknown", "Use the id of a node in this pipeline."),
    _error(
        "inputs.count",
        "A node reads from exactly one node; a transform node also from those that it joins with, or from several "
        "whose rows its first operation unites (union).",
    ),
    _error("inputs.is_target", "No node can read from a target. Read from the node before it."),
    _error("custom.column_reserved", "Give the column another name."),
    _error("custom.not_repeatable", "Remove access, or compute the column on the paths below the branch node."),
    _error("graph.cycle", "Remove one of the inputs so that rows flow in one direction."),
    _error("node.feeds_nothing", "Let a node read from it, or remove it."),
    _error("validate.must_feed_target", "Move the validate node after the last transform."),
)

_JOINS = (
    _error("join.with_unknown", "Write the id of an input of this node after the first."),
    _error("join.reference_branches", "Look rows up in a node before the branch, or in the source."),
    _error("join.reference_joins", "Join with each reference in the nodes of the main rows, one after the other."),
    _error("join.main_and_reference", "Add a second source node for the reference."),
    _error("join.reference_moves_files", "Remove atomicity. Every run reads the files of a reference again."),
    _error("join.columns_required", "Name columns to add, or use semi or anti to only filter rows."),
    _error("join.columns_unused", "Remove columns, or use the type left or inner."),
    _error("join.key_type", "Cast one of the two columns first, so that both have the same type."),
)

_UNIONS = (
    _error("union.not_first", "Make union the first operation of its node."),
    _error("union.inputs", "Let the node read from all nodes whose rows it unites, or remove union."),
    _error("union.joins", "Move the join to a transform node before or after this one."),
    _error("union.nested", "Name all inputs in one union."),
    _error("union.source_repeated", "Give each input a source node of its own, or let one transform do the work."),
    _error("union.branch", "Use a filter in place of the branch node, before or after the union."),
    _error(
        "union.compares_rows",
        "Use deduplicate or window in the nodes before the union, within each input. To keep one row of a key, "
        "let the target upsert. Let a view of the database make groups of the table.",
    ),
    _error(
        "union.load_mode",
        "Use append, upsert, truncate or blue_green. For incremental loads, give the table a target for each source.",
    ),
    _error("union.reference", "Look rows up in each of the sources, in joins one after the other."),
    _error(
        "union.column_missing",
        "Add the column to these rows with derive, such as CAST(NULL AS STRING), or drop it from the others.",
    ),
    _error("union.column_type", "Cast the column to the same type before the union."),
)

_BRANCHES = (
    _error("branch.to_unknown", "Name a node that reads from the branch node, or let that node read from it."),
    _error("branch.to_repeated", "Join the two conditions with OR, or let one of them lead to another node."),
    _error("branch.reader_unnamed", "Add a branch that leads to it, make it the default branch, or remove the input."),
    _error("branch.settings_differ", "Give all targets below the branch node the same setting."),
    _warning("branch.unreachable", "Remove the branch, or move it before the one that takes its rows."),
)

_KINDS = (
    _error("kind.not_available", "Choose another kind. This one is not available yet."),
    _error("connector.unknown", "Use one of the connectors listed."),
    _error("connector.use_sftp", "Use the connector sftp. ftp sends passwords and data unencrypted."),
)

_NAMES = (
    _error("identifier.too_long", "Shorten it. PostgreSQL truncates longer names without an error."),
    _error("identifier.empty", "Give it a name."),
    _error("identifier.reserved", "Choose another name. Flow reserves this one."),
    _error("identifier.not_readable", "Read another table, or a view made for this purpose by the owner."),
    _error("table_name.malformed", 'Write schema.table. Put a name with a dot in quotes: "a.b"."c".'),
    _error("column.repeated", "Name each column once."),
    _error("column.unknown", "Use a column that the rows have at this point."),
    _warning("column.not_seen", "Ignore this warning if later files will have the column."),
    _error("type.malformed", "Use a precision from 1 to 1000 and a scale from 0 to the precision."),
    _error("type.not_supported", "Use string, or a decimal with a precision of up to 38."),
)

_SCHEMA = (
    _warning("schema.renamed_unused", "Set schemaPolicy to evolve or ask, or remove renamed."),
    _error("schema.renamed_twice", "Write each renamed column once, with the name that the table has now."),
    _warning("schema.columns_fixed", "You can keep it. To load new columns, use drop instead of select."),
)

_HOLDS = (
    _error("hold.limit_required", "Set at least one of maxDecreasePct, maxKeyLossPct and maxNullRateIncreasePct."),
    _error("hold.key_required", "Add a primary key to the table, or remove maxKeyLossPct."),
    _warning("hold.limit_unused", "Remove it, or use the load mode truncate or blue_green."),
)

_MODES = (
    _error("upsert.key_required", "Set upsertKey to the columns that identify a row."),
    _error("upsert.key_unknown", "Use columns of the table."),
    _error("deduplicate.order_required", "Set orderBy to the column whose highest value is the newest."),
    _error("upsert.order_unknown", "Use a column of the table."),
    _error("upsert.order_unordered", "Use a column with a number, date, timestamp or text type."),
    _error("order.direction", "Write only the column. The row with the highest value is loaded."),
    _error("upsert.key_covers_all", "Remove the columns to update from the key, or use append."),
    _error("upsert.key_not_unique", "Add a unique constraint over exactly these columns."),
    _error("blue_green.not_possible", "Remove one of the obstacles, or use truncate or upsert."),
    _warning("blue_green.in_place", "You can keep it. Readers are not blocked, but a swap is faster."),
    _error("watermark.column_required", "Set watermarkColumn to a column whose values grow."),
    _error("watermark.column_unknown", "Use a column of the table."),
    _error("watermark.column_unordered", "Use a column with an integer, decimal, date, timestamp or text type."),
    _warning("watermark.column_text", "Use a number or time column, unless these texts sort in ascending order."),
    _warning("watermark.column_nullable", "ALTER TABLE … ALTER COLUMN … SET NOT NULL, if it is never empty."),
    _error("watermark.lead_mismatch", "Remove watermarkLead, or use a date or timestamp column."),
    _error(
        "watermark.lag_mismatch", "Use a duration for dates and times, and a number for numbers. Remove it for texts."
    ),
    _error("cdc.source_required", "Set cdcSource to the id of a source with the connector postgres_cdc or mysql_cdc."),
    _error(
        "cdc.streaming_disabled",
        "Set FLOW_STREAMING_ENABLED=true, or choose another load mode. See docs/reference/cdc-mirror.md.",
    ),
    _error(
        "cdc.connector_missing",
        "Set cdcSource to the id of a source with the connector postgres_cdc or mysql_cdc, or choose another load "
        "mode. See docs/reference/cdc-mirror.md.",
    ),
    _error(
        "cdc.mode_required", "Use the load mode cdc_mirror, or read the table with the connector postgres or mysql."
    ),
    _error("cdc.other_source", "Connect the target to the source in cdcSource, and to no other one."),
    _error("cdc.one_target", "Use a source of its own for each target."),
    _error(
        "cdc.rows_not_one_to_one",
        "Use operations that only change columns of a row: cast, custom, derive, drop, fillNull, flatten, jsonPath, "
        "regexExtract, rename, select, trim.",
    ),
    _error("cdc.no_hold", "Remove hold. Rules and checks can stop a load."),
    _error("cdc.slot_name", "Use 1 to 63 lower-case letters, digits and underscores."),
    _error("target.not_loadable", "Load a table that can be written."),
    _error("target.not_supported", "Remove it, or load into another destination."),
    _error("target.loaded_twice", "Load the table from one target, or use append or upsert in all of them."),
    _warning(
        "truncate.prefer_blue_green", "blue_green replaces the rows without blocking readers. You can keep truncate."
    ),
    _warning("target.empty_becomes_null", "Set emptyAsNull to false to keep empty texts, or to true to confirm."),
    _warning(
        "target.column_missing",
        "Add them to the target's columns, or drop them in a transform. Otherwise, creating the table fails.",
    ),
    _warning(
        "target.column_unfilled",
        "Remove the column, make it nullable, or add it to the rows in a transform. Otherwise, the first load fails.",
    ),
    _warning("target.field_unused", "You can keep it, but this load mode does not use it."),
)

_VALIDATION = (
    _error("rule.id_repeated", "Rename or remove one of the rules."),
    _error("bounds.required", "Set min, max or both."),
    _error("bounds.reversed", "Swap min and max."),
    _error(
        "bounds.malformed", "Write numbers, dates (2025-01-31) or timestamps (2025-01-31T08:00:00), of the same type."
    ),
    _error("regex.not_re2", "Use RE2 syntax. It has no look-around and no back-references."),
    _error("rule.limit_unused", "Set onFail to skip or warn, or remove the limit."),
    _error("json_schema.malformed", "Write a JSON Schema of draft 2020-12."),
    _error("json_schema.not_allowed", "Write the whole schema here. References must begin with #."),
    _error("quarantine.table_required", "Set the table, for example dlq.orders."),
    _error(
        "quarantine.connection_required",
        "Name the connection of a PostgreSQL database, or disable the quarantine: rejected rows are then only counted.",
    ),
    _error("quarantine.connection_differs", "Remove connection, or name that of the target."),
    _error("quarantine.is_target", "Use a separate table for rejected rows."),
)

_SOURCES = (
    _error("source.connection_required", "Choose a stored connection."),
    _error("source.repeats_rows", "Use upsert, so that a row that arrives again replaces itself."),
    _error("source.table_or_query", "Set either a table or a query."),
    _error("query.malformed", "Write one SELECT in the grammar of the database."),
    _error("query.not_allowed", "Write one plain SELECT that changes nothing and gives the same rows each time."),
    _error("query.function_not_allowed", "Remove the function, or ask an admin to allow it on the connection."),
    _error("query.role_not_allowed", "Connect as a role with fewer rights, or ask an admin to allow this one."),
    _error("path.not_inside", "Write a path below the workspace's folder, without .. and without a leading slash."),
    _error("pattern.malformed", "Correct the pattern."),
    _error("atomicity.folders", "Use different folders that differ from the source's path."),
    _error("format.separators", "Use two different single characters other than line breaks."),
    _error("format.range", "Write the upper left cell first, such as A1:F200."),
    _error("encoding.unknown", "Use a name such as utf-8, utf-16, latin-1 or windows-1252."),
    _error("column.format_unused", "Only date, timestamp and timestamptz columns can have a format."),
    _error("column.format_repeated", "Remove one of them."),
    _warning("column.formats_ambiguous", "Remove the format that the source does not use."),
    _error("column.separator_unused", "Only integer, bigint, float and decimal columns can have separators."),
    _error("column.separators_equal", "Use two different separators. The decimalSeparator is a point by default."),
)

_SCHEDULES = (
    _error("schedule.cron_malformed", "Write five fields: minute, hour, day of month, month, day of week."),
    _error("timezone.unknown", "Use an IANA time zone, such as Europe/Berlin or UTC."),
    _error("duration.malformed", "Write a whole number above 0 and a unit: 30s, 15m, 24h, 7d or 2w."),
)

_BACKFILLS = (
    _error("backfill.column_required", "Set column in backfill to a column of the source whose values grow."),
    _error("backfill.column_unordered", "Use a column with a whole number, a decimal, a date or a timestamp."),
    _error("backfill.load_mode", "Use incremental_watermark or upsert, or remove backfill."),
    _error("backfill.not_parallel", "Remove parallelism, or set it to 1."),
    _error("backfill.not_supported", "Remove backfill: the first run loads everything at once."),
    _error("backfill.one_path", "Use a pipeline with one source and one target, besides the references of joins."),
    _error("backfill.partition_not_supported", "Remove partitionBy, or use a source that is a PostgreSQL table."),
    _error("backfill.rate_contradicts", "Remove one of the two limits, or make them equal."),
    _error("backfill.rate_malformed", "Write a number, a slash, and sec, min or hour."),
    _error("backfill.schedule_required", "Add a schedule, or remove maxChunksPerTick."),
    _error("backfill.start_malformed", "Write a value of the type of the column, such as 2020-01-31 or 1000."),
    _error("backfill.start_required", "Set start in incremental of the source, such as 2020-01-01T00:00:00Z."),
    _error("backfill.window_mismatch", "Use a duration for dates and times, and a number for numbers."),
    _warning("backfill.check_per_chunk", "Set onFail to warn, or add the check when the history is loaded."),
    _warning("backfill.hold_per_chunk", "Add the limits when the history is loaded, or expect to approve chunks."),
    _warning("backfill.not_backed_up", "Remove backupBeforeLoad, or back the table up before the backfill."),
    _warning("backfill.rows_may_move", "Use upsert, or divide by a column whose values never change."),
    _warning("backfill.reads_everything", "Use incremental_watermark if rows are only added to the source."),
)

_EXPRESSIONS = (
    _error("expression.malformed", "Write one expression over the columns, such as upper(trim(name))."),
    _error("expression.not_allowed", "Use columns, literals, operators and the functions that the help lists."),
    _error("expression.ambiguous", "Add parentheses to make it unambiguous."),
)

_OPS = (
    _error("regex.group_unknown", "Put the part to take in parentheses, or use group 0 for the whole match."),
    _error("json_path.malformed", "Write a path such as $.customer.name, $.items[0].price or $['unit price']."),
    _error("flatten.path", "Write a path of names, such as $.customer.name. jsonPath takes an element of an array."),
    _error(
        "explode.order",
        "Before explode, only operations of the reading task are allowed: select, drop, "
        "rename, cast, trim, fillNull, regexExtract, jsonPath and flatten. After it, filter and compute row by row.",
    ),
    _error("explode.repeated", "Explode once. Take other values out of the element with jsonPath or flatten."),
    _error("explode.reference", "Join with a source whose records are rows."),
    _warning(
        "explode.key",
        "A run fails at a record with several elements. Add the column of indexAs to upsertKey, or another one that "
        "differs between the elements.",
    ),
    _error("explode.load_mode", "Use append, truncate, upsert or blue_green."),
    _error("window.column_required", "Name the column that the function takes."),
    _error("window.field_unused", "Remove it."),
    _warning("window.part_of_rows", "You can keep it. To compute over all rows, use truncate or blue_green."),
    _error("aggregate.column_required", "Name the column that the function takes."),
    _error("aggregate.part_of_rows", "Use truncate or blue_green, which load the groups of all rows anew in each run."),
    _error("aggregate.values_lost", "Set onTypeMismatch to abort or skip."),
    _error("aggregate.not_last", "Move it to a transform node of its own, after this one."),
    _error("aggregate.op_after", "Move it before the aggregate, or load the groups and read them in another pipeline."),
    _error("aggregate.branch", "Use a filter instead of the branch node, or aggregate in a pipeline of its own."),
    _error("aggregate.reference", "Load the groups into a table, and join with that."),
    _error("aggregate.type", "Cast the column before the aggregate: to a decimal for a sum, to text for a group."),
    _error("sql.malformed", "Write SELECT, columns and expressions, FROM input, and a WHERE if needed."),
)

_HOOKS = (
    _error("hook.when_unused", "Remove `when`, or use the load mode blue_green and a post-hook."),
    _error("hook.sql_malformed", "Write one valid PostgreSQL statement."),
    _error("hook.sql_not_one", "Use a separate hook for each statement."),
    _error("hook.sql_comment", "Remove the comment. Use the node's description."),
    _error("hook.sql_not_allowed", "Change rows in the pipeline. Hooks are for table maintenance."),
    _error("hook.setting_not_listed", "Use one of the listed settings. They affect speed only."),
    _error("hook.set_after_load", "Move it to preHook, where it applies to the transaction of the load."),
    _error("hook.function_unknown", "Install the package that registers it for the web process and the workers."),
    _error("http.one_address", "Set url for one file, urls for several, or index for a page with links."),
    _error(
        "http.address",
        "Use an http or https URL with a host, without user and fragment. Secrets belong in a connection.",
    ),
    _error(
        "http_api.address",
        "Use an http or https URL. Enter query parameters under parameters, and secrets in a connection.",
    ),
    _error(
        "http_api.secret_parameter",
        "Store it in a connection, as a secret header or parameter, and choose that connection.",
    ),
    _error("http_api.parameter_repeated", "Remove it from one of the places."),
    _error("http_api.overlap", "Write a duration such as 15m, or a number that is not negative."),
    _error("singer.needs_catalog", "Remove it, or turn useCatalog on."),
    _error("singer.secret_in_settings", "Store it in a connection of kind singer, and choose that connection."),
    _error("webhook.not_public", "Use a public https address. This machine and private networks are not allowed."),
    _error("webhook.address", "Use a connection (with a path), or an https URL without user and query."),
)

CODES: KindTable[Code] = KindTable(
    "diagnostic code",
    (
        (code.name, code)
        for family in (
            _DOCUMENT,
            _STRUCTURE,
            _GRAPH,
            _JOINS,
            _UNIONS,
            _BRANCHES,
            _KINDS,
            _NAMES,
            _MODES,
            _SCHEMA,
            _HOLDS,
            _VALIDATION,
            _SOURCES,
            _SCHEDULES,
            _BACKFILLS,
            _EXPRESSIONS,
            _OPS,
            _HOOKS,
        )
        for code in family
    ),
)
