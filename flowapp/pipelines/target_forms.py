"""What the forms of targets and validate nodes offer, according to what the destination supports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from flowapp.web.document_form import field_labels
from flowapp.web.schema_form import Field
from ir.connectors import TARGET_CONNECTORS
from ir.connectors.base import TargetConnector
from ir.destination_support import TARGET_FIELDS, VALIDATE_FIELDS
from ir.diagnostics import listed
from ir.load_modes import LOAD_MODE_KINDS, LoadMode
from ir.nodes import Target

Node = dict[str, Any]
NO_STREAMS = "FLOW_STREAMING_ENABLED is off"
_TITLES = {str(info.alias): str(info.title) for info in Target.model_fields.values()}


@dataclass
class ModeCard:
    """A load mode in the form. `why_not` says why it cannot be chosen here; "" if it can. `runs_sql` means that the
    destination runs the statements that the mode describes."""

    mode: LoadMode
    chosen: bool
    why_not: str = ""
    runs_sql: bool = True

    @property
    def summary(self) -> str:
        """Return what the mode does, in one short sentence."""
        return re.split(r"[:.](?: |$)", self.mode.sentence)[0] + "."

    @property
    def details(self) -> str:
        """Return what the mode does, runs and needs, in the words of the form."""
        mode = self.mode
        runs = f" Runs: {mode.runs}. Needs: {mode.needs}" if self.runs_sql else ""
        return field_labels().in_text(f"{mode.sentence}{runs}")


def cards_of(node: Node) -> list[ModeCard]:
    """Return all load modes, of which a target can choose those that its destination supports."""
    target = _target_of(node)
    runs_sql = target is None or target.runs_sql
    return [
        ModeCard(mode, mode.name == node.get("loadMode"), _why_not(mode, target), runs_sql) for mode in LOAD_MODE_KINDS
    ]


def _why_not(mode: LoadMode, target: TargetConnector | None) -> str:
    if target is not None and mode.name not in target.load_modes:
        return f"{target.tables} do not support it yet"
    return NO_STREAMS if mode.follows_stream and not settings.FLOW_STREAMING_ENABLED else ""


def missing_features(node: Node) -> str:
    """Return which fields are absent because the destination of a target does not support them; "" if none is."""
    target = _target_of(node)
    hidden = [name for name, feature in TARGET_FIELDS.items() if target is not None and feature in target.lacks]
    labels = listed(_TITLES[name] for name in hidden)
    return f"Not available for {target.tables}: {labels}." if target is not None and hidden else ""


def unsupported_fields(node: Node, fed: Iterable[Node]) -> frozenset[str]:
    """Return the unset fields that the destination does not support: that of a target, or each of those that a validate
    node leads to. `fed` are the nodes that get rows from it."""
    own = _target_of(node)
    if own is not None:
        return frozenset(name for name, feature in TARGET_FIELDS.items() if feature in own.lacks) - node.keys()
    if node.get("kind") != "validate":
        return frozenset()
    below = [target for other in fed if (target := _target_of(other)) is not None]
    lacking = [{name for name, feature in VALIDATE_FIELDS.items() if feature in target.lacks} for target in below]
    return frozenset(set.intersection(*lacking) if lacking else ()) - node.keys()


def needs_connection(fed: Iterable[Node]) -> bool:
    """Return whether the quarantine of a validate node needs a connection, because one of the destinations is in no
    database. `fed` are the nodes that get rows from it."""
    return any(target.quarantine_elsewhere for other in fed if (target := _target_of(other)) is not None)


def describe_quarantine(fields: Iterable[Field], fed: Iterable[Node]) -> None:
    """Mark the connection of a quarantine as required, or say what it is by default."""
    below = [child for made in fields if made.name == "quarantine" for child in made.children]
    for made in (child for child in below if child.name == "connection"):
        made.required = needs_connection(fed)
        if not made.required:
            made.options[0].label = "Default: that of the target"


def hide_unsupported_checks(fields: Iterable[Field], fed: Iterable[Node]) -> None:
    """Remove the kinds of dataset checks that no destination below a validate node supports, unless they have a check,
    which can then be removed."""
    below = [target for other in fed if (target := _target_of(other)) is not None]
    missing = set.intersection(*(set(target.no_checks) for target in below)) if below else set()
    for made in fields:
        if made.name == "datasetLevel":
            made.children = [kind for kind in made.children if kind not in made.empty_lists or kind.name not in missing]


def _target_of(node: Node) -> TargetConnector | None:
    """Return the connector of a target; None for other nodes and for an unknown connector."""
    return TARGET_CONNECTORS.get(str(node.get("connector"))) if node.get("kind") == "target" else None
