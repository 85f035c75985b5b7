"""Codes of accounts, tokens, workspaces and requests."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "account.signed_out",
        "The session, token or password ended during the request.",
        "Sign in and try again.",
        status=409,
    ),
    ErrorCode(
        "csrf.failed",
        "The form's CSRF token is missing or not valid.",
        "Go back, reload the page, and send the form again. Nothing was changed.",
        status=403,
    ),
    ErrorCode("action.unknown", "The list has no such action.", "Use an action that the message lists.", status=404),
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
        "The person who created the login link may no longer create login links.",
        "Ask an admin for a new one, or on the server: `flow user link EMAIL`.",
    ),
    ErrorCode(
        "login_link.not_yours",
        "You may not make a login link for this account.",
        "On the server: `flow user link EMAIL`.",
    ),
    ErrorCode(
        "member.last_admin", "The workspace would be left without an admin.", "Make another member an admin first."
    ),
    ErrorCode(
        "precondition.required",
        "The request needs an If-Match header.",
        'Send If-Match with the version that the document was made from, in quotes; "0" for a new pipeline.',
        status=428,
    ),
    ErrorCode("reason.required", "This action needs a reason.", "Enter a reason. It is stored."),
    ErrorCode(
        "request.authentication_failed",
        "The request's credentials are not valid.",
        "Send the header `Authorization: Token KEY` with a valid key.",
        status=401,
    ),
    ErrorCode("request.bad", "The request cannot be understood.", "Go back and try again.", status=400),
    ErrorCode(
        "request.half_character",
        "The request contains a lone surrogate.",
        "Remove it from the URL or from the entered text.",
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
        "The URL does not support this method.",
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
        "Send the header `Authorization: Token KEY`; `flow token add` or the Settings page creates a token.",
        status=401,
    ),
    ErrorCode("request.not_found", "There is no resource at this URL.", "Check the URL and the workspace.", status=404),
    ErrorCode(
        "request.nul",
        "The request has a NUL character.",
        "Remove it from the URL or from the entered text.",
        status=400,
    ),
    ErrorCode(
        "request.too_deep",
        "The JSON of the request is nested too deeply.",
        "Send a body with less nesting.",
        status=400,
    ),
    ErrorCode(
        "request.too_large",
        "The request is too large.",
        "Upload files with Files → Upload a file or POST /api/files/upload/, which requires the role editor.",
        status=413,
    ),
    ErrorCode(
        "request.too_many",
        "There are too many requests at once.",
        "Wait for their responses, then send this request again.",
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
    ErrorCode("token.days_invalid", "A token cannot last so long.", "Use 1 to 3650 days."),
    ErrorCode(
        "token.invalid",
        "The token is unknown or has expired.",
        "Send the header `Authorization: Token KEY`; `flow token add` or the Settings page creates a token.",
        status=401,
    ),
    ErrorCode("token.name_taken", "Another token has this name.", "Choose another name.", status=409),
    ErrorCode(
        "token.no_creator",
        "A token made on the server cannot create tokens.",
        "Create the token on the server: `flow token add`.",
        status=403,
    ),
    ErrorCode(
        "token.role_too_high", "The token would have a higher role than you.", "Give it your own role or a lower one."
    ),
    ErrorCode("token.unknown", "The token does not exist here.", "The Settings page lists all tokens.", status=404),
    ErrorCode("user.email_invalid", "The text is not an e-mail address.", "Write it like name@example.com."),
    ErrorCode("user.inactive", "The account is deactivated.", "Ask the administrator of the server."),
    ErrorCode("user.unknown", "The account does not exist.", "Add the user with `flow user add EMAIL --role ROLE`."),
    ErrorCode(
        "workspace.name_invalid",
        "The name cannot be used for a workspace.",
        "A name begins with a lowercase letter and has up to 63 lowercase letters, digits and -.",
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
