"""The codes of sources: files, tables and their content."""

from __future__ import annotations

from ir.error_codes import ErrorCode
from ir.formats import READABLE_NAMES

CODES = (
    ErrorCode(
        "detection.binary",
        "The file is neither text nor of a kind that Flow knows.",
        f"Flow reads {READABLE_NAMES}. If it is text, choose its encoding.",
    ),
    ErrorCode("detection.empty", "The file has no content.", "Send the file again, or choose one with content."),
    ErrorCode(
        "detection.no_record",
        "The part of the file that is read contains no complete record.",
        "Check its delimiter, quote and line ends, or enter the format.",
    ),
    ErrorCode(
        "detection.one_object",
        "The file is one JSON object over several lines.",
        "Write the rows as an array of objects, or one object a line.",
    ),
    ErrorCode("detection.setting_unusable", "No file can be read with a setting.", "Correct it, or leave it out."),
    ErrorCode(
        "detection.unreadable",
        "Flow cannot read files of this kind.",
        f"Convert the file. Flow reads {READABLE_NAMES}.",
    ),
    ErrorCode(
        "source.changed",
        "A source file changed during the run.",
        "Let writers finish under another name and rename, or raise settleSeconds.",
        status=503,
    ),
    ErrorCode(
        "source.column_missing",
        "A declared column is not in the source.",
        "Remove the column from the source's columns, or write its name as in the source.",
    ),
    ErrorCode(
        "union.source_missing",
        "One of several sources has no files, and the target replaces all its rows.",
        "Put the files there, or use append or upsert.",
    ),
    ErrorCode("source.column_repeated", "The source has two columns of one name.", "Give each column a unique name."),
    ErrorCode(
        "source.column_reserved", "The source has a column with a reserved name.", "Rename the column at its source."
    ),
    ErrorCode(
        "source.driver_missing",
        "The driver of a database is not installed.",
        "Install the extra of Flow that the message names, on every machine that runs pipelines or tests connections.",
    ),
    ErrorCode(
        "source.empty",
        "The source has no rows, so the load would clear the table.",
        "If an empty source may clear the table, set failOnEmptySource to false on this target.",
    ),
    ErrorCode(
        "source.encoding_differs",
        "The file has another encoding than its format says.",
        "Set the format's encoding to the file's, or write the file in UTF-8.",
    ),
    ErrorCode(
        "source.encoding_unknown",
        "The text encoding does not exist.",
        "Write one of utf-8, utf-16, latin-1, cp1252 or another name that Python's codecs know.",
    ),
    ErrorCode(
        "source.encrypted",
        "A file in a ZIP archive is encrypted.",
        "Send the archive without a password.",
    ),
    ErrorCode(
        "source.engine_failed",
        "The process that reads a database file ended by itself.",
        "Check the file and the query with the database itself, and the memory of the worker's machine.",
    ),
    ErrorCode(
        "source.expands_too_much",
        "The file cannot be read in bounded memory.",
        "Write the file with smaller row groups and pages, and with shorter values.",
    ),
    ErrorCode(
        "source.folder_elsewhere",
        "A folder of the source is on another file system.",
        "Keep stagingFolder, successFolder and failureFolder on the file system of the source's path.",
    ),
    ErrorCode(
        "source.format_unusable",
        "A date or time format cannot be read.",
        "Write it as Python's strptime does, for example %d/%m/%Y or %Y-%m-%d %H:%M:%S.",
    ),
    ErrorCode(
        "source.header_unreadable",
        "The header of a file cannot be read.",
        "Check the format's encoding, delimiter and quote.",
    ),
    ErrorCode(
        "source.held_back",
        "An earlier file has failed and holds back later ones.",
        "Correct the failed file, load it again, or leave it out.",
    ),
    ErrorCode(
        "source.link_not_movable",
        "A link cannot be moved.",
        "Put the file itself into the source's path, or leave atomicity out.",
    ),
    ErrorCode(
        "source.malformed",
        "A file is malformed.",
        "Send the file again, or use the format jsonl if it holds one object a line.",
    ),
    ErrorCode(
        "source.member_name",
        "A file in a ZIP archive has an unusable name.",
        "Pack the archive again, with relative names that differ.",
    ),
    ErrorCode(
        "source.method_unsupported",
        "A file in a ZIP archive is compressed by an unsupported method.",
        "Pack the archive with the usual method, deflate.",
    ),
    ErrorCode("source.no_columns", "The source has no columns.", "Read another table."),
    ErrorCode(
        "source.no_files",
        "No file matches the source's pattern.",
        "Put a file there or upload one. Archived files are not searched.",
    ),
    ErrorCode(
        "source.no_members",
        "No file in a ZIP archive matches.",
        "Send the archive again, or set members in the source to a pattern that its files match.",
    ),
    ErrorCode(
        "source.not_movable",
        "A file cannot be moved.",
        "Give the user that runs the worker the right to write to the source's path and folders.",
    ),
    ErrorCode(
        "source.not_pinned",
        "The snapshot of the source cannot be shared.",
        "Load each target with a separate pipeline. PostgreSQL can also be read without the pooler.",
    ),
    ErrorCode("source.nothing_readable", "No row of the files can be read.", "Correct the format of the source."),
    ErrorCode("source.path_missing", "The source's folder does not exist.", "Create it, or correct the source's path."),
    ErrorCode(
        "source.path_outside",
        "A file is a link out of the workspace's folder.",
        "Put files into the workspace's folder itself; links must not lead out of it.",
    ),
    ErrorCode(
        "source.sheet_unknown",
        "The workbook does not have the sheet.",
        "Correct the sheet in the source's format, or leave it out to read the first one.",
    ),
    ErrorCode(
        "source.quote_not_closed",
        "A file ends inside a quoted cell.",
        "The file may have been cut off: send it again. Or set the format's quote to a character it does not use.",
    ),
    ErrorCode(
        "source.record_path_unknown",
        "The root element of an XML file is not the first one of the record path.",
        "Correct the record path of the source's format. It begins with the root element.",
    ),
    ErrorCode(
        "source.record_too_long",
        "A record of a file is too long.",
        "Look for a quote that is never closed, or a wrong delimiter, quote or line end in the format's settings.",
    ),
    ErrorCode(
        "source.records_differ",
        "Two passes over a file found different records.",
        "The target was not loaded. Please report this file: it shows a fault in Flow.",
    ),
    ErrorCode(
        "source.table_unknown",
        "The source's table or view does not exist.",
        "Names are matched exactly, large and small letters included.",
    ),
    ErrorCode(
        "source.too_many_columns",
        "A file has too many columns.",
        "Check the delimiter, or write rows with fewer columns: nested values count as one.",
    ),
    ErrorCode(
        "source.too_many_members",
        "A ZIP archive has too many members.",
        "Split the archive.",
    ),
    ErrorCode(
        "source.type_unsupported",
        "A file has a column of an unsupported type.",
        "Write the column as text or as a number, or leave it out of the file.",
    ),
    ErrorCode(
        "source.query_disk_limit",
        "A query on a database file needs more temporary files than it may have, or the disk is full.",
        "Read the table without sorting or joining it, and leave the rest to the pipeline.",
    ),
    ErrorCode(
        "source.query_memory_limit",
        "A query on a database file needs more memory than it may have.",
        "Read the table without sorting, joining or building long values, and leave the rest to the pipeline.",
    ),
    ErrorCode(
        "source.query_time_limit",
        "A query on a database file took longer than it may.",
        "Read fewer rows or compute less in the query. For runs, errorHandling.maxMinutes is the limit.",
    ),
    ErrorCode(
        "source.types_differ",
        "Files have different types for one column.",
        "Declare the column's type in the source, write the files with one type, or load them by separate sources.",
    ),
    ErrorCode(
        "source.unreadable",
        "A file or folder cannot be read.",
        "Give the user that runs the worker the right to read it.",
    ),
    ErrorCode(
        "source.value_cut",
        "The server of a source cut values of a query.",
        "Raise group_concat_max_len or max_allowed_packet of the server, or select shorter values.",
    ),
)
