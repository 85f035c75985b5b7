"""Every code that an error or a warning of the control plane may have, and those of all layers together.

`docs/errors.md` is made from it.
"""

from __future__ import annotations

from executors.errors import ERROR_CODES as OF_RUNS
from executors.errors import WARNING_CODES as WARNINGS_OF_RUNS
from executors.errors import unreached_codes
from ir.error_codes import ERROR_CODES as OF_DOCUMENTS
from ir.error_codes import ErrorCode, WarningCode, table_of, warnings_of

_CODES = (
    ErrorCode(
        "account.signed_out",
        "The session, token or password ended during the request.",
        "Sign in and try again.",
        status=409,
    ),
    ErrorCode(
        "alert.state",
        "The alert's state does not allow this.",
        "An alert goes from open to acknowledged to resolved; the same trouble again opens a new one.",
        status=409,
    ),
    ErrorCode("alert.unknown", "The alert does not exist here.", "`flow alerts list` shows the open ones.", status=404),
    ErrorCode(
        "backup.other_connection",
        "The target uses another connection than the backup.",
        "Name the connection of the backup in the target again, then restore.",
    ),
    ErrorCode(
        "backup.unknown",
        "The backup does not exist here.",
        "The Backups page and `flow backups list` name those there are.",
        status=404,
    ),
    ErrorCode(
        "bind.refused", "The web server cannot listen on the address.", "Set FLOW_BIND to an address of this machine."
    ),
    ErrorCode(
        "channel.address_invalid", "An e-mail address of the channel is not valid.", "Write it like ops@example.com."
    ),
    ErrorCode(
        "channel.filter_invalid",
        "The channel's filter names an unknown severity or kind of alert.",
        "Use a severity and kinds of alert that the message lists.",
    ),
    ErrorCode(
        "channel.login_invalid",
        "The mail server's user or password has characters that cannot be sent.",
        "Give the mail server's account a password without umlauts and the like.",
    ),
    ErrorCode(
        "channel.name_invalid",
        "The name cannot be used for a channel.",
        "A name begins with a small letter and holds up to 63 small letters, digits, - and _.",
    ),
    ErrorCode("channel.name_taken", "Another channel has this name.", "Choose another name.", status=409),
    ErrorCode(
        "channel.not_changeable",
        "These fields of the channel cannot be changed.",
        "Add another channel, and remove this one.",
    ),
    ErrorCode(
        "channel.password_in_clear",
        "The mail server's password would be sent without encryption.",
        "Use starttls or tls, or a server that takes mails from here without a password.",
    ),
    ErrorCode(
        "channel.recipients_invalid",
        "The number of recipients is not allowed.",
        "Use the address of a mailing list to reach more people.",
    ),
    ErrorCode(
        "channel.secret_again",
        "The secret must be given again with this change.",
        "Send the secret together with the new server, port or encryption.",
    ),
    ErrorCode(
        "channel.secret_invalid",
        "The signing secret is too short.",
        "Make one up, such as by `openssl rand -base64 24`, and give it to the receiver as well.",
    ),
    ErrorCode("channel.too_many", "The workspace has as many channels as it may have.", "Remove one first."),
    ErrorCode("channel.unknown", "The channel does not exist.", "Use a name from the list of channels.", status=404),
    ErrorCode(
        "connection.busy",
        "Runs that have not ended need the connection.",
        "Wait until they have ended, or cancel them.",
        status=409,
    ),
    ErrorCode(
        "connection.function_invalid",
        "The text is not the name of a function.",
        "Write one function, operator's function or type a line, with its schema, such as public.similarity.",
    ),
    ErrorCode(
        "connection.headers_invalid",
        "The webhook's headers are not valid.",
        "Write one header a line, such as `Authorization: Bearer …`.",
    ),
    ErrorCode(
        "connection.host_invalid",
        "The host is not a name or address.",
        "Write it without port, user or slashes, such as db.example.com or 10.0.0.5.",
    ),
    ErrorCode(
        "connection.is_control",
        "The connection leads to Flow's control database.",
        "Load into another database (one on the same server will do), as a role of its own.",
    ),
    ErrorCode(
        "connection.name_invalid",
        "The name cannot be used for a connection.",
        "A name begins with a small letter and holds up to 63 small letters, digits, - and _.",
    ),
    ErrorCode(
        "connection.name_taken",
        "Another connection has this name.",
        "Remove the other connection first, or choose another name.",
        status=409,
    ),
    ErrorCode(
        "connection.not_embedded",
        "There is no bundled database to connect to.",
        "Look at the list of connections, or add one by its fields.",
    ),
    ErrorCode(
        "connection.option_refused",
        "The connection URL has options that are not allowed.",
        "The only option allowed is sslmode, once. Everything else is set by Flow.",
    ),
    ErrorCode(
        "connection.sslmode_unknown",
        "The connection URL has an unknown sslmode.",
        "Use an sslmode that the message lists.",
    ),
    ErrorCode(
        "connection.url_invalid",
        "The connection URL cannot be read.",
        "Write postgresql://USER@HOST:PORT/DATABASE, with special characters percent-encoded.",
    ),
    ErrorCode(
        "connection.wrong_kind",
        "The connection is of another kind than is needed.",
        "Allow functions and roles on connections to databases.",
    ),
    ErrorCode(
        "control.behind", "The control database needs a migration.", "Run `flow up`, which migrates it.", status=503
    ),
    ErrorCode(
        "control.unreachable",
        "The control database does not answer.",
        "Look at FLOW_DATABASE_URL and at the server it names.",
        status=503,
    ),
    ErrorCode(
        "csrf.failed",
        "The form's CSRF token is missing or not valid.",
        "Go back, reload the page, and send the form again. Nothing was changed.",
        status=403,
    ),
    ErrorCode("delivery.gave_up", "The message was tried as often as it may be.", "Look at the scheduler's log."),
    ErrorCode("delivery.is_test", "A test message cannot be sent again.", "Send a new test.", status=409),
    ErrorCode(
        "delivery.not_failed",
        "The message has not failed.",
        "Messages that failed can be sent again; waiting messages are sent automatically.",
        status=409,
    ),
    ErrorCode(
        "delivery.over",
        "The alert of the message is resolved.",
        "Look at the alert on the Health page instead.",
        status=409,
    ),
    ErrorCode(
        "delivery.unknown", "The channel's log has no such message.", "Use a key from the channel's log.", status=404
    ),
    ErrorCode(
        "demo.files_missing",
        "The demo's files are not installed.",
        "Install them with `pip install 'flow-pipelines[demo]'`, or run `make demo`.",
    ),
    ErrorCode(
        "demo.warehouse_missing",
        "The demo has no connection to load into.",
        "Add the connection that the message names.",
    ),
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
        "embedded.broker_down", "The embedded broker did not start.", "Read the log that the message names.", status=503
    ),
    ErrorCode(
        "embedded.home_unwritable",
        "FLOW_HOME cannot be written.",
        "Set FLOW_HOME to a folder that you own, with a few hundred MB free.",
    ),
    ErrorCode(
        "embedded.initdb_failed",
        "The embedded PostgreSQL could not be created.",
        "Check that the disk has free space, and read the log that the message names.",
        status=503,
    ),
    ErrorCode(
        "embedded.supervisor_died",
        "The supervisor of an embedded service ended.",
        "Read the log that the message names.",
        status=503,
    ),
    ErrorCode(
        "embedded.not_answering",
        "An embedded service did not answer in time.",
        "Read the logs in FLOW_HOME.",
        status=503,
    ),
    ErrorCode(
        "embedded.not_installed",
        "The package of an embedded service is not installed.",
        "Install Flow with pip again, or set FLOW_DATABASE_URL.",
    ),
    ErrorCode(
        "embedded.postgres_down",
        "The embedded PostgreSQL did not start.",
        "Read the log that the message names.",
        status=503,
    ),
    ErrorCode(
        "embedded.root_refused",
        "PostgreSQL does not run as root.",
        "Run Flow as an ordinary user, or set FLOW_DATABASE_URL and FLOW_REDIS_URL to servers of your own.",
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
        "Work on the rows of one pipeline at a time.",
    ),
    ErrorCode(
        "errors.status_not_possible", "The rejected row cannot take this status.", "Send cells, or another status."
    ),
    ErrorCode("errors.status_unknown", "Rejected rows have no such status.", "Use a status that the message lists."),
    ErrorCode(
        "errors.too_many_rows",
        "More rows match than can be changed at once.",
        "Narrow the rows down, and repeat the action for the rest.",
    ),
    ErrorCode("errors.too_many_runs", "Too many runs of that day rejected rows.", "Name a pipeline, a rule or a run."),
    ErrorCode(
        "errors.unknown",
        "The rejected row does not exist here.",
        "`flow errors list --json` shows the keys.",
        status=404,
    ),
    ErrorCode(
        "fence.ahead",
        "The target knows a newer claim than the control database.",
        "Find out which installation is the right one before anything is loaded.",
    ),
    ErrorCode("file.unknown", "The file does not exist here.", "The Files page lists those there are.", status=404),
    ErrorCode("file.unreadable", "A file cannot be read.", "Check the path and the permissions of the file."),
    ErrorCode("file.unwritable", "A file cannot be written.", "Name a folder that you may write to."),
    ErrorCode("filter.invalid", "A filter of the list cannot be read.", "Write it like 2026-01-31."),
    ErrorCode("fix.field_unknown", "The rejected rows do not have this field.", "Use a field that the message lists."),
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
    ErrorCode("leave_out.not_failed", "Only failed files can be left out.", "Only failed files wait for you."),
    ErrorCode("load_again.busy", "A run is loading the file.", "Wait for its run to end.", status=409),
    ErrorCode("load_again.never_loaded", "The pipeline has never loaded the file.", "Run the pipeline."),
    ErrorCode(
        "login.throttled",
        "There were too many wrong passwords.",
        "Wait 15 minutes, use a browser that you have signed in with before, or sign in by a one-time link: "
        "`flow user link EMAIL`.",
        status=429,
    ),
    ErrorCode("login_link.invalid", "The login link is not valid.", "Ask for a new one: `flow user link EMAIL`."),
    ErrorCode(
        "login_link.maker_left",
        "Whoever made the login link lost the right to do so.",
        "Ask an admin for a new one, or on the server: `flow user link EMAIL`.",
    ),
    ErrorCode(
        "login_link.not_yours",
        "You may not make a login link for this account.",
        "On the server: `flow user link EMAIL`.",
    ),
    ErrorCode(
        "mail.login_refused",
        "The mail server refused user and password.",
        "Correct the user, or replace the password of the channel.",
    ),
    ErrorCode(
        "mail.not_supported",
        "The mail server does not support the channel's settings.",
        "Correct security, port and user of the channel.",
    ),
    ErrorCode("mail.recipients_refused", "The mail server refused all recipients.", "Read the mail server's log."),
    ErrorCode("mail.refused", "The mail server refused the message.", "Read the mail server's log."),
    ErrorCode("mail.sender_refused", "The mail server refused the sender.", "Read the mail server's log."),
    ErrorCode(
        "member.last_admin", "The workspace would be left without an admin.", "Make somebody else an admin first."
    ),
    ErrorCode("node.unknown", "The document has no such node.", "It was renamed or removed meanwhile.", status=404),
    ErrorCode(
        "patch.refused",
        "The JSON Patch does not fit the document.",
        "Read the document again and make the change anew.",
    ),
    ErrorCode("pipeline.ambiguous", "Several pipelines have this name.", "Use an id."),
    ErrorCode("pipeline.busy", "The pipeline has runs that have not ended.", "Cancel them first.", status=409),
    ErrorCode("pipeline.disabled", "The pipeline is disabled.", "Switch it on, then run it."),
    ErrorCode("pipeline.exists", "Another pipeline has this id.", "Choose another id.", status=409),
    ErrorCode(
        "pipeline.id_changed",
        "The document has the id of another pipeline.",
        "Set the id back. For a pipeline with another id, create a new pipeline.",
    ),
    ErrorCode(
        "pipeline.id_malformed",
        "The text cannot be the id of a pipeline.",
        "An id begins with a small letter and holds up to 63 small letters, digits, - and _.",
    ),
    ErrorCode("pipeline.no_version", "The pipeline has no saved version.", "Save one."),
    ErrorCode(
        "pipeline.unknown",
        "The pipeline does not exist.",
        "`flow pipeline list` shows those there are; `flow pipeline save FILE` adds one.",
        status=404,
    ),
    ErrorCode(
        "precondition.required",
        "The request needs an If-Match header.",
        'Send If-Match with the version that the document was made from, in quotes; "0" for a new pipeline.',
        status=428,
    ),
    ErrorCode("purge.days_invalid", "The number of days is too large.", "Use a smaller number of days."),
    ErrorCode(
        "purge.search",
        "Rows cannot be deleted by a text search.",
        "Narrow them down by pipeline, run, rule, field or status.",
    ),
    ErrorCode("reason.required", "This action needs a reason.", "Say why; the reason is kept."),
    ErrorCode(
        "replay.elsewhere",
        "The newest version has no target for these rows.",
        "Give the pipeline that target back, or ignore the rows.",
    ),
    ErrorCode(
        "request.authentication_failed",
        "The request's credentials are not valid.",
        "Send the header `Authorization: Token KEY` with a valid key.",
        status=401,
    ),
    ErrorCode("request.bad", "The request cannot be understood.", "Go back and try again.", status=400),
    ErrorCode(
        "request.half_character",
        "The request has half of a surrogate pair.",
        "Take it out of the address or of what was typed.",
        status=400,
    ),
    ErrorCode(
        "request.invalid",
        "Fields of the request are missing or not valid.",
        "Correct the fields that `fields` names.",
        status=400,
    ),
    ErrorCode(
        "request.malformed", "The request cannot be read.", "Send a body that is valid JSON in UTF-8.", status=400
    ),
    ErrorCode(
        "request.method",
        "The address does not answer this method.",
        "Go back and use the page's own links and buttons.",
        status=405,
    ),
    ErrorCode(
        "request.not_acceptable",
        "The response cannot have the requested media type.",
        "Accept application/json.",
        status=406,
    ),
    ErrorCode(
        "request.not_allowed",
        "The request is not allowed.",
        "Ask an admin of the workspace for a higher role.",
        status=403,
    ),
    ErrorCode(
        "request.not_authenticated",
        "The request has no credentials.",
        "Send the header `Authorization: Token KEY`; `flow token add` or the Settings page makes a key.",
        status=401,
    ),
    ErrorCode(
        "request.not_found", "There is nothing at this address.", "Check the address and the workspace.", status=404
    ),
    ErrorCode(
        "request.nul",
        "The request has a NUL character.",
        "Take it out of the address or of what was typed.",
        status=400,
    ),
    ErrorCode(
        "request.too_deep", "The request's JSON is nested too deeply.", "Send a body with less nesting.", status=400
    ),
    ErrorCode(
        "request.too_large",
        "The request is too large.",
        "Files are sent by those who may, through Files → Upload a file or POST /api/files/upload/.",
        status=413,
    ),
    ErrorCode(
        "request.too_many",
        "There are too many requests at once.",
        "Wait for their answers, then send this request again.",
        status=429,
    ),
    ErrorCode(
        "request.unsupported_media_type",
        "The request's media type is not supported.",
        "Send application/json, or the media type that the operation names.",
        status=415,
    ),
    ErrorCode(
        "role.too_low",
        "The role does not allow this.",
        "An admin of the workspace can change your role on its Settings page.",
        status=403,
    ),
    ErrorCode("role.unknown", "The role does not exist.", "Use viewer, editor or admin."),
    ErrorCode("rule.invalid", "The row rule is not valid.", "See the schema of the rule."),
    ErrorCode("rule.type_unknown", "The type of rule does not exist.", "Use a type that the message lists."),
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
        "Nobody decided about the held load in time.",
        "Decide about a held load sooner, or raise FLOW_HOLD_HOURS.",
    ),
    ErrorCode("run.interrupted", "The process of the run was interrupted.", "Start a new run."),
    ErrorCode(
        "run.no_replay", "The run is not a replay.", "The results of a check without a load are in `rows.results`."
    ),
    ErrorCode("run.not_held", "The run is not held.", "Look at the run.", status=409),
    ErrorCode("run.kind_unknown", "This is not a kind of run.", "Use a kind that the message lists."),
    ErrorCode(
        "run.time_limit",
        "The run took longer than its limit.",
        "Raise errorHandling.maxMinutes, or load less at a time.",
    ),
    ErrorCode("run.unknown", "The run does not exist here.", "`flow runs list` shows the newest ones.", status=404),
    ErrorCode(
        "sample.not_ready", "The draft cannot be sampled yet.", "Correct the source and the nodes before this one."
    ),
    ErrorCode(
        "secrets.unreadable",
        "A stored secret cannot be decrypted.",
        "Put the key that it was stored under back into FLOW_ENCRYPTION_KEYS, or store the secret again.",
    ),
    ErrorCode(
        "server.busy",
        "The server has no capacity left.",
        "Nothing was changed. Send the request again in a while.",
        status=503,
    ),
    ErrorCode(
        "server.error",
        "The server met an internal error.",
        "Try again. If it repeats, search the server's log for the id of the response.",
        status=500,
    ),
    ErrorCode(
        "services.moved",
        "The embedded services belong to another folder.",
        "Start Flow where it was set up, or set FLOW_HOME to another folder.",
    ),
    ErrorCode("settings.invalid", "A setting is not valid.", "Use true or false."),
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
    ErrorCode("token.days_invalid", "A token cannot last so long.", "Use 1 to 3650 days."),
    ErrorCode(
        "token.invalid",
        "The token is unknown or has expired.",
        "Send the header `Authorization: Token KEY`; `flow token add` or the Settings page makes a key.",
        status=401,
    ),
    ErrorCode("token.name_taken", "Another token has this name.", "Choose another name.", status=409),
    ErrorCode(
        "token.no_creator",
        "A token made on the server cannot make tokens.",
        "Make the token on the server: `flow token add`.",
        status=403,
    ),
    ErrorCode(
        "token.role_too_high", "The token would have a higher role than you.", "Give it your own role or a lower one."
    ),
    ErrorCode(
        "token.unknown", "The token does not exist here.", "The Settings page lists those there are.", status=404
    ),
    ErrorCode("trace.key_required", "Tracing a row needs its key.", "Give the columns of its key with their values."),
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
        "Convert the file to CSV, TSV, JSON, JSON lines or Parquet.",
    ),
    ErrorCode("upload.name_refused", "The file name is not allowed.", "Rename the file as the message says."),
    ErrorCode(
        "upload.too_large",
        "The file is too large.",
        "Put large files into the workspace's folder on the server itself.",
        status=413,
    ),
    ErrorCode("user.email_invalid", "The text is not an e-mail address.", "Write it like name@example.com."),
    ErrorCode("user.inactive", "The account is deactivated.", "Ask the administrator of the server."),
    ErrorCode("user.unknown", "The account does not exist.", "Add the user with `flow user add EMAIL --role ROLE`."),
    ErrorCode(
        "version.conflict",
        "A newer version of the pipeline was saved.",
        "Review the newer version, then save your edit again.",
        status=412,
    ),
    ErrorCode("version.unknown", "The pipeline has no such version.", "Choose one of the list.", status=404),
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
        "Two workers were lost during the run.",
        "The run may need more memory than the workers have. Look at their logs.",
    ),
    ErrorCode(
        "worker.stopping", "The worker is stopping.", "Nothing to do: another worker takes up the run.", status=503
    ),
    ErrorCode(
        "workspace.name_invalid",
        "The name cannot be used for a workspace.",
        "A name begins with a small letter and holds up to 63 small letters, digits and -.",
    ),
    ErrorCode("workspace.name_taken", "Another workspace has this name.", "Choose another name.", status=409),
    ErrorCode(
        "workspace.not_named",
        "The request names no workspace.",
        "Send the header X-Flow-Workspace: SLUG, or ?workspace=SLUG.",
        status=400,
    ),
    ErrorCode(
        "workspace.unknown", "The workspace does not exist.", "Use a workspace that the message lists.", status=404
    ),
)

ERROR_CODES = table_of(*OF_DOCUMENTS.values(), *OF_RUNS.values(), *_CODES, *unreached_codes("mail", "The mail server"))
"""Those of all layers."""

WARNING_CODES = warnings_of(
    *WARNINGS_OF_RUNS.values(),
    WarningCode(
        "rows.out_of_band",
        "A load had an unusual row count.",
        "Compare the source with its usual content. If the new count is normal, widen expectedRowCountDelta.",
    ),
)
"""Those of all layers."""


def anchor_of(code: str) -> str:
    """The section of a code in `docs/errors.md`."""
    return code.replace(".", "")
