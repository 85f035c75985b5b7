"""An argument of each kind that addresses take. A page or route with a new kind of argument adds a sample here;
`test_access.py` then asks it as a stranger, as nobody, and in each role.

A sample need not exist: whether a thing is missing or belongs to others must look the same.
"""

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

BY_NAME: dict[str, object] = {"channel_kind": "email"}
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
"""What anybody may ask, signed in or not."""

OUTSIDE = {"start", "workspaces", "docs", "docs_index", "accounts:password"}
"""What whoever has signed in may ask, in no workspace."""
