"""Names of time zones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer
from ir.spelling import guess


@cache
def _known() -> frozenset[str]:
    # `posixrules`, `localtime` and `Factory` depend on the machine or have no meaning.
    return frozenset(available_timezones() - {"localtime", "posixrules", "Factory"})


def timezone(name: str) -> ZoneInfo:
    """Return the time zone of that name; raises ValueError. Only listed names are accepted, because a name is also a
    file path."""
    if name not in _known():
        raise ValueError(f"{name!r} is not a time zone")
    return ZoneInfo(name)


@cache
def list_timezones() -> list[str]:
    """Return the names by place, such as `Europe/Berlin`, and UTC, without older names of the same zones."""
    regions = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
    return ["UTC", *sorted(name for name in _known() if name.startswith(regions))]


def check_timezone(name: str, at: Pointer) -> Iterator[Diagnostic]:
    if name not in _known():
        near = guess(name, _known(), most=1_000)
        yield diagnose(
            "timezone.unknown",
            at,
            f"Unknown time zone {shown(name)}." + (f" Did you mean {near}?" if near else ""),
            fixes=[[{"op": "replace", "path": str(at), "value": near}]] if near else [],
        )
