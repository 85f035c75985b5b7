"""Codes of connections, of alerts and their delivery, and of server processes."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "alert.state",
        "The alert's state does not allow this.",
        "An alert is open, then acknowledged, then resolved. The same problem later opens a new alert.",
        status=409,
    ),
    ErrorCode("alert.unknown", "The alert does not exist here.", "`flow alerts list` shows the open ones.", status=404),
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
        "Give the mail server's account a password of ASCII characters.",
    ),
    ErrorCode(
        "channel.name_invalid",
        "The name cannot be used for a channel.",
        "A name begins with a lowercase letter and has up to 63 lowercase letters, digits, - and _.",
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
        "Use starttls or tls, or a server that accepts mail from this machine without a password.",
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
        "Generate one, for example with `openssl rand -base64 24`, and configure it in the receiver too.",
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
        "connection.field_invalid",
        "A field of the connection is missing, unknown or has a wrong form.",
        "The reference of connections lists the fields of each kind and their forms.",
    ),
    ErrorCode(
        "connection.folder_not_writable",
        "Flow can neither write to the folder of a connection nor create it.",
        "Let the user of Flow's processes write to FLOW_LAKE_FOLDER, or use another folder.",
    ),
    ErrorCode(
        "connection.folder_outside",
        "The folder of a connection leads out of the workspace's folder.",
        "Remove the link, or add a connection with another folder.",
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
        "connection.host_key_differs",
        "The last test of the connection has not shown a host key with this fingerprint.",
        "Test the connection, compare the fingerprint with that of the server, and confirm it.",
    ),
    ErrorCode(
        "connection.is_control",
        "The connection leads to Flow's control database.",
        "Load into another database (it may be on the same server), with a separate role.",
    ),
    ErrorCode(
        "connection.name_invalid",
        "The name cannot be used for a connection.",
        "A name begins with a lowercase letter and has up to 63 lowercase letters, digits, - and _.",
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
        "Check the list of connections, or enter the fields of a new one.",
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
        "Check FLOW_DATABASE_URL and the server that it names.",
        status=503,
    ),
    ErrorCode("delivery.gave_up", "The message was tried as often as it may be.", "Check the scheduler's log."),
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
        "secrets.unreadable",
        "A stored secret cannot be decrypted.",
        "Add the key that encrypted it to FLOW_ENCRYPTION_KEYS, or store the secret again.",
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
)
