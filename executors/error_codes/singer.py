"""The codes of Singer taps."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "singer.batch_refused",
        "A tap sends rows in files, which Flow does not read.",
        "Remove batch_config from the settings of the tap, so that it sends the rows themselves.",
    ),
    ErrorCode(
        "singer.catalog_malformed",
        "A tap did not write a catalog when it was asked to discover its streams.",
        "If the tap cannot discover, turn useCatalog off in the source. Otherwise check its settings.",
    ),
    ErrorCode(
        "singer.connection_malformed",
        "The settings in a connection to a tap are not a JSON object.",
        "Replace them on the page of the connection.",
    ),
    ErrorCode(
        "singer.connection_of_other_tap",
        "The connection of a source is for another tap.",
        "Choose a connection for the tap of the source.",
    ),
    ErrorCode(
        "singer.field_unknown", "A stream has no field of this name.", "Correct the names in the source's fields."
    ),
    ErrorCode("singer.file_unreadable", "A file cannot be read.", "Correct the path of the file."),
    ErrorCode(
        "singer.install_failed",
        "The package of a tap could not be installed.",
        "Correct the package or the settings of pip, and run the command again.",
    ),
    ErrorCode("singer.interrupted", "A tap was stopped.", "Run again.", 503),
    ErrorCode(
        "singer.message_malformed",
        "A tap writes something to its standard output that is not a Singer message.",
        "The tap may write other text there, or be defective. Use another version of it. Nothing was loaded.",
    ),
    ErrorCode(
        "singer.message_too_long",
        "A message of a tap exceeds the limit of its size.",
        "Leave large fields out of the source's fields.",
    ),
    ErrorCode(
        "singer.name_invalid",
        "The name of a tap is not valid.",
        "A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
    ),
    ErrorCode(
        "singer.no_program",
        "It is not clear which program of a package is the tap.",
        "Name it with --executable, or install a package that has a tap.",
    ),
    ErrorCode(
        "singer.no_sandbox",
        "The system cannot close its files to taps.",
        "Use Linux 6.2 or newer with Landlock, or install the tap with --without-sandbox if you trust it and all "
        "people who may edit its settings.",
    ),
    ErrorCode(
        "singer.package_not_pinned",
        "A tap needs a package with one exact version, or requirements with hashes.",
        "Write the package as tap-example==1.2.3, or give a file of requirements with hashes.",
    ),
    ErrorCode(
        "singer.schema_missing",
        "A tap sends rows of a stream before its schema.",
        "The tap is defective. Use another version of it.",
    ),
    ErrorCode(
        "singer.setting_refused",
        "A pipeline gives a tap a setting that it may not give.",
        "Store the setting in a connection, or let an administrator of the installation allow it to pipelines.",
    ),
    ErrorCode(
        "singer.stream_missing",
        "A tap sent nothing of the stream that the source reads.",
        "Correct the name of the stream, or select it in the settings of the tap.",
    ),
    ErrorCode("singer.stream_unknown", "A tap has no stream of this name.", "Choose one of its streams."),
    ErrorCode(
        "singer.tap_changed",
        "A tap was replaced while a run started it.",
        "Run again.",
        503,
    ),
    ErrorCode("singer.tap_exists", "There is a tap of this name already.", "Choose another name, or use --replace."),
    ErrorCode(
        "singer.tap_failed",
        "A tap ended with an error.",
        "Check its settings. The last lines of a tap in a run are in the details of the run, for those who may see "
        "values.",
        503,
    ),
    ErrorCode("singer.tap_locked", "Another command changes the tap.", "Wait until it has ended."),
    ErrorCode(
        "singer.tap_unknown",
        "A tap is not installed.",
        "An administrator of the installation adds taps with flow tap add.",
    ),
    ErrorCode("singer.tap_used", "A run uses the tap.", "Try again when the run has ended."),
    ErrorCode(
        "singer.timeout",
        "A tap did not end within the time limit of the run.",
        "Raise maxMinutes in errorHandling, or let the tap read less at once.",
    ),
)
