"""A value of each kind of URL argument. A route with a new kind of argument adds a value here; `test_access.py` then
requests it as a stranger, without a session, and in each role.

The object need not exist: missing objects and those of other users must have the same response."""

from __future__ import annotations

from uuid import UUID

UNKNOWN = UUID("00000000-0000-4000-8000-000000000000")

BY_CONVERTER: dict[str, object] = {
    "slug": "something",
    "uuid": UNKNOWN,
    "int": 1,
    "str": "something",
    "path": "some/thing",
}
"""By the converter in the pattern, such as `<uuid:run>`."""

BY_NAME: dict[str, object] = {"channel_kind": "email", "store_kind": "s3"}
"""By the argument's name, where its converter does not say enough."""

PUBLIC = {
    "accounts:login",
    "accounts:link",
    "accounts:logout",
    "api:schema",
    "api:health",
    "api:pipeline_schema",
    "api:trigger_call",
}
"""Routes without a sign-in."""

OUTSIDE = {"start", "workspaces", "docs", "docs_index", "accounts:password"}
"""Routes for every signed-in user, outside of workspaces."""
