"""Codes of pipelines, their drafts and versions, and of lists."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "custom.access_not_granted",
        "A document declares access that its module does not have.",
        "Let an admin grant it on the page Custom transforms, or remove it from the operation.",
    ),
    ErrorCode("custom.access_unknown", "There is no such kind of access.", "Grant clock or random."),
    ErrorCode("custom.file_unreadable", "The file of a module cannot be read.", "Correct the path."),
    ErrorCode("custom.module_unknown", "The module does not exist here.", "`flow module list` shows all.", status=404),
    ErrorCode(
        "custom.module_used",
        "Pipelines use the module.",
        "Save versions of these pipelines without it first.",
        status=409,
    ),
    ErrorCode(
        "custom.name_invalid",
        "The name cannot be used for a module.",
        "A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
    ),
    ErrorCode("custom.too_many", "The workspace has too many modules.", "Remove builds that no pipeline uses."),
    ErrorCode(
        "draft.conflict",
        "The draft has changed since it was read.",
        "Load the draft again, then repeat your change if it is still needed.",
        status=409,
    ),
    ErrorCode(
        "draft.nobody",
        "The token belongs to no person, so it has no draft.",
        "Use a token that a person made on the Settings page, or save a version with PUT …/ir/.",
    ),
    ErrorCode(
        "draft.revision_malformed",
        "If-Match is not a revision of a draft.",
        'Send the draft\'s revision in quotes, as its ETag has it: If-Match: "0123456789abcdef".',
    ),
    ErrorCode(
        "draft.text_refused",
        "The text cannot be stored as a draft.",
        "A draft is text in UTF-8 that PostgreSQL can store.",
    ),
    ErrorCode(
        "filter.name_invalid", "The filter cannot be saved under this name.", "Filter the list and enter a short name."
    ),
    ErrorCode("filter.page_unknown", "The list has no saved filters.", "Use a list that is named.", status=404),
    ErrorCode("filter.too_many", "A list has no room for one more filter.", "Delete a saved filter first.", status=409),
    ErrorCode("filter.unknown", "The saved filter does not exist here.", "Reload the page.", status=404),
    ErrorCode("selection.invalid", "Too few or too many rows are selected.", "Select rows of one page of the list."),
    ErrorCode("tag.invalid", "The tag is empty or too long.", "Enter a tag of up to 50 characters."),
    ErrorCode("filter.invalid", "A filter of the list cannot be read.", "Write it like 2026-01-31."),
    ErrorCode("import.not_text", "The document is not text.", "Choose a JSON or TOML file in UTF-8."),
    ErrorCode("import.too_large", "The document is too large.", "A document has at most 1 MB.", status=413),
    ErrorCode("node.unknown", "The document has no such node.", "It was renamed or removed.", status=404),
    ErrorCode(
        "patch.refused",
        "The JSON Patch does not fit the document.",
        "Read the document again and repeat the change.",
    ),
    ErrorCode("pipeline.ambiguous", "Several pipelines have this name.", "Use an id."),
    ErrorCode("pipeline.busy", "The pipeline has runs that have not ended.", "Cancel them first.", status=409),
    ErrorCode("pipeline.archived", "The pipeline is archived.", "Restore it, then run it.", status=409),
    ErrorCode("pipeline.disabled", "The pipeline is disabled.", "Switch it on, then run it."),
    ErrorCode("pipeline.exists", "Another pipeline has this id.", "Choose another id.", status=409),
    ErrorCode(
        "pipeline.id_changed",
        "The document has the id of another pipeline.",
        "Restore the id. For a pipeline with another id, create a new pipeline.",
    ),
    ErrorCode(
        "pipeline.id_malformed",
        "The text cannot be the id of a pipeline.",
        "An id begins with a lowercase letter and has up to 63 lowercase letters, digits, - and _.",
    ),
    ErrorCode("pipeline.no_version", "The pipeline has no saved version.", "Save one."),
    ErrorCode(
        "pipeline.unknown",
        "The pipeline does not exist.",
        "`flow pipeline list` shows all pipelines; `flow pipeline save FILE` adds one.",
        status=404,
    ),
    ErrorCode("rule.invalid", "The row rule is not valid.", "See the schema of the rule."),
    ErrorCode("rule.type_unknown", "The type of rule does not exist.", "Use a type that the message lists."),
    ErrorCode("preview.cancelled", "The preview was cancelled.", "Request a new one.", status=409),
    ErrorCode(
        "preview.edit_refused",
        "The draft cannot be changed in this way from a preview.",
        "Change it in the form of the node, or on the JSON tab.",
    ),
    ErrorCode("preview.lost", "The worker stopped while it made a preview.", "Ask for the preview again.", status=503),
    ErrorCode(
        "preview.no_broker",
        "The broker does not answer, so no preview can be made.",
        "System Health shows the state of the broker.",
        status=503,
    ),
    ErrorCode(
        "preview.no_worker",
        "No worker is running, so a preview waits.",
        "Start a worker. System Health shows its state.",
        status=503,
    ),
    ErrorCode(
        "preview.not_ready",
        "The draft's node cannot be previewed yet.",
        "Correct the node and those before it. The message says what is wrong.",
    ),
    ErrorCode("preview.replaced", "A newer preview replaced this one.", "Open the newest preview.", status=409),
    ErrorCode(
        "preview.too_slow",
        "The preview took too long.",
        "Choose the first rows. A query or a view that returns its first rows slowly can be the cause.",
        status=503,
    ),
    ErrorCode(
        "preview.unknown",
        "The preview does not exist or has expired.",
        "Previews are stored for 10 minutes. Request a new one.",
        status=404,
    ),
    ErrorCode(
        "sample.not_ready", "The draft cannot be sampled yet.", "Correct the source and the nodes before this one."
    ),
    ErrorCode(
        "source.delimiter_unusable",
        "The delimiter of the format cannot be used.",
        "Choose another delimiter: one ASCII character, not the quote and no line end.",
    ),
    ErrorCode(
        "source.quote_unusable",
        "The quote of the format cannot be used.",
        "Choose another quote: one ASCII character, not the delimiter and no line end.",
    ),
    ErrorCode("switch.unknown", "The pipeline has no such switch.", "Use a switch that the message lists.", status=404),
    ErrorCode("trace.key_required", "Tracing a row needs its key.", "Give the columns of its key with their values."),
    ErrorCode(
        "version.conflict",
        "A newer version of the pipeline was saved.",
        "Review the newer version, then save your edit again.",
        status=412,
    ),
    ErrorCode("version.unknown", "The pipeline has no such version.", "Choose one of the list.", status=404),
)
