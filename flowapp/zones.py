"""Format times of schedules in their own time zone."""

from __future__ import annotations

from datetime import datetime

from ir.timezones import timezone

UTC = "UTC"


def in_zone(moment: datetime, zone: str) -> str:
    """Return `Mon 2025-06-02 02:00 CEST (Europe/Berlin)`, with seconds if they are not 0. An unknown zone is replaced
    by UTC."""
    try:
        local = moment.astimezone(timezone(zone))
    except ValueError:
        return in_zone(moment, UTC)
    name = "" if local.tzname() == zone else f" ({zone})"
    time = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{local:%a %Y-%m-%d} {time} {local:%Z}{name}"
