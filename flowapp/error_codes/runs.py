"""Codes of runs, files and rejected rows."""

from __future__ import annotations

from ir.error_codes import ErrorCode
from ir.formats import READABLE_NAMES

CODES = (
    ErrorCode(
        "backup.other_connection",
        "The target uses another connection than the backup.",
        "Name the connection of the backup in the target again, then restore.",
    ),
    ErrorCode(
        "backup.unknown",
        "The backup does not exist here.",
        "The Backups page and `flow backups list` show all backups.",
        status=404,
    ),
    ErrorCode(
        "detection.no_records",
        "A web service returned no records to detect columns from.",
        "Check the URL, the parameters, the start value and the path of the records.",
        status=404,
    ),
    ErrorCode(
        "detection.no_source",
        "The settings of a source are not valid, so no sample can be read.",
        "Correct the settings of the source first.",
        status=422,
    ),
    ErrorCode(
        "detection.no_file",
        "A source has no file to detect settings from.",
        "Choose the folder and the file names, and upload a file to the folder.",
        status=404,
    ),
    ErrorCode(
        "errors.ambiguous",
        "Several tables have an entry with this number.",
        "Name the row by its key, `run:row`.",
        status=409,
    ),
    ErrorCode(
        "errors.conflict",
        "The rejected row has changed since it was read.",
        "Read the row again, then decide.",
        status=409,
    ),
    ErrorCode("errors.no_rows", "No rejected row matches.", "Choose rows again."),
    ErrorCode("errors.result_unknown", "No row of the replay has this result.", "Use a result that the message lists."),
    ErrorCode(
        "errors.several_pipelines",
        "The rejected rows belong to several pipelines.",
        "Select rows of one pipeline.",
    ),
    ErrorCode(
        "errors.status_not_possible", "The rejected row cannot take this status.", "Send cells, or another status."
    ),
    ErrorCode("errors.status_unknown", "Rejected rows have no such status.", "Use a status that the message lists."),
    ErrorCode(
        "errors.too_many_rows",
        "More rows match than can be changed at once.",
        "Filter the rows, and repeat the action for the others.",
    ),
    ErrorCode("errors.too_many_runs", "Too many runs of that day rejected rows.", "Name a pipeline or a run."),
    ErrorCode(
        "errors.unknown",
        "The rejected row does not exist here.",
        "`flow errors list --json` shows the keys.",
        status=404,
    ),
    ErrorCode(
        "fence.ahead",
        "The target has a newer fence token than the control database.",
        "Find out which installation is the right one before anything is loaded.",
    ),
    ErrorCode("file.unknown", "The file does not exist here.", "The Files page lists all files.", status=404),
    ErrorCode("file.state_unknown", "Files do not have this state.", "Use a state that the message lists."),
    ErrorCode("file.unreadable", "A file cannot be read.", "Check the path and the permissions of the file."),
    ErrorCode(
        "transforms.node_missing",
        "Transforms in TypeScript need Node.",
        "Install Node 22.18 or newer, or pip install 'flow-pipelines[typescript]'.",
    ),
    ErrorCode("file.unwritable", "A file cannot be written.", "Name a folder that you may write to."),
    ErrorCode("fix.field_unknown", "The rejected rows do not have this field.", "Use a field that the message lists."),
    ErrorCode(
        "folder.unknown", "The folder does not exist here.", "Choose a folder of the workspace's folder.", status=404
    ),
    ErrorCode(
        "fix.of_group",
        "A group that an aggregate has made cannot be fixed.",
        "Correct the rows in their source, or the rule, and run the pipeline again.",
    ),
    ErrorCode(
        "fix.incomplete",
        "Fixing rows needs a field and an expression.",
        "Give both, for example the field name and the expression trim(name).",
    ),
    ErrorCode("hook.busy", "A hook of this run is already running.", "Wait for its result.", status=409),
    ErrorCode(
        "hook.needs_admin",
        "Adding or changing an SQL hook needs an admin.",
        "Let an admin save this version, or leave SQL hooks as they are, with their node and its connection.",
        status=403,
    ),
    ErrorCode(
        "hook.not_to_run",
        "The hook cannot run again in this state.",
        "A post-hook can run again if it failed or was not run, and the load is committed.",
        status=409,
    ),
    ErrorCode("hook.unknown", "The run has no such hook.", "Use a hook that the message lists.", status=404),
    ErrorCode("leave_out.not_failed", "Only failed files can be skipped.", "Skip a file after it has failed."),
    ErrorCode("load_again.busy", "A run is loading the file.", "Wait for its run to end.", status=409),
    ErrorCode("load_again.never_loaded", "The pipeline has never loaded the file.", "Run the pipeline."),
    ErrorCode("undo.busy", "A run is loading or undoing the file.", "Wait for its run to end.", status=409),
    ErrorCode("undo.rows_unknown", "The number of rows to delete is missing.", "Look at it first."),
    ErrorCode("purge.days_invalid", "The number of days is too large.", "Use a smaller number of days."),
    ErrorCode(
        "purge.search",
        "Rows cannot be deleted by a text search.",
        "Filter them by pipeline, run, rule, field or status.",
    ),
    ErrorCode(
        "replay.elsewhere",
        "The newest version has no target for these rows, or stores its rejected rows elsewhere.",
        "Add that target and its quarantine to the pipeline again, or ignore the rows.",
    ),
    ErrorCode(
        "run.ambiguous", "Several pipelines have a run of this number.", "Name the pipeline too, such as orders/12."
    ),
    ErrorCode(
        "run.busy",
        "The pipeline has a run that has not ended.",
        "Wait for the other run, cancel it, or request a run that waits.",
        status=409,
    ),
    ErrorCode("run.cancelled", "The run was cancelled.", "Start a new run when the data should be loaded."),
    ErrorCode("run.crashed", "The run met an internal error.", "The log of the process that ran it has the details."),
    ErrorCode("run.discarded", "A person discarded the held load.", "Start a new run when the data should be loaded."),
    ErrorCode("run.ended", "The run has ended.", "There is nothing to cancel.", status=409),
    ErrorCode(
        "run.expired",
        "The held load was not approved or rejected in time.",
        "Decide about a held load sooner, or raise FLOW_HOLD_HOURS.",
    ),
    ErrorCode("run.interrupted", "The process of the run was interrupted.", "Start a new run."),
    ErrorCode(
        "run.no_replay", "The run is not a replay.", "The results of a check without a load are in `rows.results`."
    ),
    ErrorCode("run.not_loaded", "The run has loaded nothing into this target.", "Look at the run.", status=404),
    ErrorCode(
        "schema.change_decided",
        "The change of columns is not open for this decision.",
        "See its state on the page Schema changes.",
        status=409,
    ),
    ErrorCode(
        "schema.change_unknown",
        "The change of columns does not exist here.",
        "`flow schema log` shows the changes of a pipeline.",
        status=404,
    ),
    ErrorCode("run.not_held", "The run is not held.", "Look at the run.", status=409),
    ErrorCode("run.kind_unknown", "This is not a kind of run.", "Use a kind that the message lists."),
    ErrorCode(
        "run.time_limit",
        "The run took longer than its limit.",
        "Raise errorHandling.maxMinutes, or load less at a time.",
    ),
    ErrorCode("run.unknown", "The run does not exist here.", "`flow runs list` shows the newest ones.", status=404),
    ErrorCode("table.unknown", "The connection has no such table.", "Choose a table of the list.", status=404),
    ErrorCode(
        "upload.exists",
        "A file with this name exists.",
        "Nothing was overwritten. Give the new file another name.",
        status=409,
    ),
    ErrorCode("upload.file_missing", "The request has no file.", "Choose a file, as field `file`."),
    ErrorCode("upload.folder_outside", "The folder leads out of the workspace.", "Links must not lead out of it."),
    ErrorCode(
        "upload.folder_refused",
        "Files cannot be put into the folder.",
        "Name a folder below the workspace's own, such as in/2026; no part begins with a dot.",
    ),
    ErrorCode(
        "upload.format_unreadable",
        "Flow cannot read files of this format.",
        f"Convert the file. Flow reads {READABLE_NAMES}.",
    ),
    ErrorCode("upload.name_refused", "The file name is not allowed.", "Rename the file as the message says."),
    ErrorCode(
        "upload.not_deletable",
        "The upload cannot be deleted.",
        "Only unchanged uploads that no pipeline has loaded can be deleted.",
        status=409,
    ),
    ErrorCode(
        "run.not_partial",
        "The run is not partially loaded.",
        "Run the pipeline again.",
        status=409,
    ),
    ErrorCode(
        "run.retried",
        "A later run has loaded the missing targets, or is about to.",
        "See that run. If it failed, retry that one.",
        status=409,
    ),
    ErrorCode(
        "state.damaged",
        "A state file is cut off or was changed.",
        "Copy the file again, or export again.",
    ),
    ErrorCode(
        "state.malformed",
        "The file does not contain state in a format of this release.",
        "Export the state again with the same release of Flow.",
    ),
    ErrorCode(
        "state.partly_imported",
        "One database of a pipeline has its state, but another one failed.",
        "Correct the cause, and import the file again: it adds what is missing.",
        status=409,
    ),
    ErrorCode(
        "state.run_elsewhere",
        "A run of the file belongs to another pipeline here.",
        "Import into the workspace that has the pipeline.",
        status=409,
    ),
    ErrorCode("state.unreadable", "A state file cannot be read.", "Name a file that `flow state export` has written."),
    ErrorCode(
        "state.workspace_other",
        "The state belongs to another workspace.",
        "Name the workspace of the file: FLOW_WORKSPACE.",
        status=409,
    ),
    ErrorCode(
        "target.not_available",
        "Flow does this only for targets in databases.",
        "Only targets in PostgreSQL have it.",
    ),
    ErrorCode(
        "upload.too_large",
        "The file is too large.",
        "Put large files into the workspace's folder on the server itself.",
        status=413,
    ),
    ErrorCode(
        "watermark.unknown",
        "The pipeline has no such watermark.",
        "Name a target with load mode incremental_watermark.",
        status=404,
    ),
    ErrorCode(
        "worker.lost",
        "The worker of the run was lost.",
        "The run is tried again as often as its retry policy allows.",
        status=503,
    ),
    ErrorCode(
        "worker.lost_twice",
        "Two workers were lost during the run; of a stream, six without a good window in between.",
        "The run may need more memory than the workers have. Check their logs.",
    ),
    ErrorCode(
        "worker.stopping", "The worker is stopping.", "Nothing to do: another worker continues the run.", status=503
    ),
)
