"""The target of the new pipeline: the connection and the table, chosen or proposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from executors.target_database import TableName
from flowapp.accounts.models import Workspace
from flowapp.pipelines.destinations import Found, find_destinations
from flowapp.starting.answers import Answers, Choice, Setting, make_setting
from ir.destinations import Destination

CONNECTOR = "postgres"
SCHEMA = "public"


@dataclass(frozen=True, slots=True)
class Place:
    """A table of a connection. `destination` is the existing table, None if there is none or if the database did not
    respond, for the reason `silent`."""

    connection: str
    schema: str
    table: str
    connections: tuple[str, ...]
    destination: Destination | None
    silent: str

    @property
    def rejects_table(self) -> str:
        """Return the table for rejected rows, in the form of documents."""
        return TableName("dlq", self.table or "rejected").written

    def target(self, **more: Any) -> dict[str, Any]:
        """Return the node that loads the table."""
        location = {"connection": self.connection, "schema": self.schema, "table": self.table}
        return {"id": "load", "kind": "target", "inputs": [], "connector": CONNECTOR, **location, **more}


def choose_place(workspace: Workspace, answers: Answers, table: str) -> Place:
    """Return the table that the user chose, or the proposed one of the first connection."""
    known = target_connections(workspace)
    connection = answers.text("connection", known[0] if known else "")
    schema, table = answers.text("schema", SCHEMA), answers.text("table", table)
    found = _look(workspace, connection, schema, table)
    destination = found.tables.get((connection, schema, table))
    return Place(connection, schema, table, known, destination, found.silent.get(connection, ""))


def target_connections(workspace: Workspace) -> tuple[str, ...]:
    """Return the names of the connections that targets can use."""
    return find_destinations(workspace, None).names_for({"kind": "target", "connector": CONNECTOR})


def first_connection(workspace: Workspace) -> str:
    return next(iter(target_connections(workspace)), "")


def _look(workspace: Workspace, connection: str, schema: str, table: str) -> Found:
    node = {"kind": "target", "connection": connection, "schema": schema, "table": table}
    return find_destinations(workspace, {"nodes": [node]})


def place_settings(answers: Answers, place: Place) -> list[Setting]:
    names = tuple(Choice(name, name) for name in place.connections)
    return [
        make_setting(answers, "connection", "Connection", place.connection, names),
        make_setting(answers, "schema", "Schema", place.schema),
        make_setting(answers, "table", "Table", place.table),
    ]


def existing_key(place: Place, names: Mapping[str, str]) -> list[str]:
    """Return the columns of the file that are the key of the existing table. `names` maps columns of the file to
    columns of the table."""
    if place.destination is None:
        return []
    by_target = {target: source for source, target in names.items()}
    keys = sorted((sorted(key) for key in place.destination.unique_keys), key=len)
    whole = next((key for key in keys if set(key) <= by_target.keys()), [])
    return [by_target[name] for name in whole]
