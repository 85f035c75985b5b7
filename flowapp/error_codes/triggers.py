"""Codes of triggers."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode("trigger.if_busy_unknown", "This is not a choice for a busy pipeline.", "Use wait or refuse."),
    ErrorCode("trigger.name_malformed", "The name of a trigger is not valid.", "Use up to 63 of a-z, 0-9, - and _."),
    ErrorCode("trigger.name_taken", "The pipeline has a trigger of this name.", "Choose another name.", status=409),
    ErrorCode(
        "trigger.outdated",
        "The timestamp of a call is too old or in the future.",
        "Sign each call when it is sent, and check the clocks of both machines.",
        status=401,
    ),
    ErrorCode(
        "trigger.rate_limited",
        "A trigger was called too often.",
        "Wait a minute. Call it once for several events: a run loads all new data.",
        status=429,
    ),
    ErrorCode(
        "trigger.refused",
        "There is no such trigger, or the signature of the call is wrong.",
        "Check the address and the secret, and sign id, timestamp and body exactly as they are sent.",
        status=401,
    ),
    ErrorCode(
        "trigger.throttled",
        "Too many calls of a trigger with a wrong signature came from one network.",
        "Correct the address or the secret, and wait 15 minutes.",
        status=429,
    ),
    ErrorCode("trigger.too_large", "The body of a call is too large.", "Send less: the body is not used.", status=413),
    ErrorCode(
        "trigger.too_many",
        "The pipeline has too many triggers.",
        "Remove a trigger that is no longer used.",
        status=409,
    ),
    ErrorCode(
        "trigger.unknown",
        "The pipeline has no such trigger.",
        "`flow trigger list PIPELINE` shows its triggers.",
        status=404,
    ),
)
