"""The settings that a tap gets: those of the pipeline and those of its connection. Only the latter are secret."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from executors.errors import Terminal
from executors.model import StoreConnection
from executors.singer.environments import Tap

MASK = "•••"
_SHORTEST_MASKED, _SHORTEST_LINE = 4, 8


@dataclass(frozen=True, slots=True)
class TapSettings:
    """All settings of a tap. `repr` shows none of them. `secret` are those of the connection."""

    values: Mapping[str, Any]
    secret: Mapping[str, Any]

    def __repr__(self) -> str:
        return "TapSettings(…)"

    def masked(self, text: str) -> str:
        """Return a text without the secrets that it repeats."""
        for value in sorted(_texts_of(self.secret), key=len, reverse=True):
            for form in _forms_of(value):
                text = text.replace(form, MASK)
        return text


def _forms_of(value: str) -> Iterator[str]:
    """Yield the forms in which a log may repeat a secret, and the lines of a text of several lines, such as a key."""
    encoded = base64.b64encode(value.encode()).decode()
    yield from (value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), encoded)
    lines = value.splitlines()
    yield from (line for line in lines if len(lines) > 1 and len(line.strip()) >= _SHORTEST_LINE)


def merge_settings(tap: Tap, given: Mapping[str, Any], connection: StoreConnection | None) -> TapSettings:
    """Return the settings for a tap: those of the pipeline (`given`), and those of the connection. Raises Terminal
    `singer.setting_refused` and `singer.connection_of_other_tap`."""
    secret = _stored(connection, tap) if connection is not None else {}
    refused, fixed = tap.refused(list(given)), sorted(set(given) & set(secret))
    if refused:
        allowed = ", ".join(tap.settings or ()) or "none"
        raise Terminal(
            "singer.setting_refused",
            f"Pipelines may not give the setting {refused[0]!r} to the tap {tap.name}. Allowed: {allowed}.",
            hint="Store it in a connection of kind singer. An administrator of this installation can allow it to "
            "pipelines: flow tap allow.",
        )
    if fixed:
        raise Terminal(
            "singer.setting_refused",
            f"The connection has the setting {fixed[0]!r} already.",
            hint="Remove it from the settings of the source.",
        )
    return TapSettings({**given, **secret}, secret)


def _stored(connection: StoreConnection, tap: Tap) -> dict[str, Any]:
    if connection.settings["tap"] != tap.name:
        raise Terminal(
            "singer.connection_of_other_tap",
            f"The connection {connection.name} is for the tap {connection.settings['tap']}, not for {tap.name}.",
            hint="Choose a connection for this tap.",
        )
    try:
        found = json.loads(connection.secrets["settings"])
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    raise Terminal(
        "singer.connection_malformed",
        "The settings in the connection are not a JSON object.",
        hint="Replace them on the page of the connection.",
    )


def _texts_of(value: Any) -> Iterator[str]:
    """Yield all texts and numbers in a JSON value that are long enough to be secret."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts_of(one)
    elif not isinstance(value, bool) and value is not None and len(str(value)) >= _SHORTEST_MASKED:
        yield str(value)
