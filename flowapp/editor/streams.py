"""List the streams of a source in a draft, and propose to read one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from executors.api import Stream, find_streams
from executors.model import StoreConnection
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.stores import resolve_store
from flowapp.pipelines.edits import find_node, require_node
from flowapp.taps.folder import tap_folder
from ir.connectors import CONNECTORS
from ir.errors import FlowError
from ir.pointers import Pointer

SECONDS = 30.0
"""How long a tap may take while the page waits."""
MOST_SHOWN = 500

Patch = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Offer:
    """A stream, whether the source reads it, and the change of the draft so that it does."""

    stream: Stream
    is_chosen: bool
    patch: Patch

    @property
    def columns(self) -> str:
        return ", ".join(f"{field.name} {field.type}" for field in self.stream.fields)


def list_offers(workspace: Workspace, document: Any, node_id: str) -> tuple[list[Offer], int]:
    """Return the first streams of the tap of a source, and the number of the others. Raises FlowError if they cannot be
    listed."""
    at, node = find_node(document, node_id)
    config = _object(node.get("config"))
    streams = find_streams(
        tap_folder(),
        str(config.get("tap", "")),
        _object(config.get("settings")),
        store_of(workspace, node),
        SECONDS,
        (settings.FILES_ROOT / workspace.slug,),
    )
    offers = [_offer(stream, at, node, config) for stream in streams[:MOST_SHOWN]]
    return offers, len(streams) - len(offers)


def store_of(workspace: Workspace, node: Mapping[str, Any]) -> StoreConnection | None:
    """Return the decrypted connection of a source of a draft, None if it names none. Raises FlowError."""
    name = node.get("connection")
    if not isinstance(name, str):
        return None
    connection = get_connection(workspace, name)
    needed = CONNECTORS[str(node.get("connector"))].connection_kind
    if connection.kind != needed:
        raise FlowError(
            "connection.wrong_kind",
            f"The connection {name!r} is of kind {connection.kind}; this needs the kind {needed}.",
            hint=f"Choose a connection of kind {needed}.",
        )
    return resolve_store(connection)


def _offer(stream: Stream, at: Pointer, node: dict[str, Any], config: dict[str, Any]) -> Offer:
    put = {"op": "replace" if "stream" in config else "add", "path": str(at / "config" / "stream"), "value": stream.id}
    return Offer(stream, config.get("stream") in (stream.id, stream.name), [require_node(at, node), put])


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
