"""A connection to a project of BigQuery."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import UNTESTED, DeclaredStore
from ir.manifests.stores.gcs import unusable_key


class DeclaredBigQuery(DeclaredStore):
    """A project of BigQuery, from which sources read rows. Not tested against a real server."""

    title = "BigQuery"
    holds = "rows"
    caution = UNTESTED
    secret_fields = ("serviceAccount",)
    address = ("kind", "project")

    kind: Literal["bigquery"]
    project: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9.:-]{4,100}$"), NoNewline()] = Field(
        title="Project", description="The project that runs the queries and pays for them.", examples=["acme-sales"]
    )
    dataset: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,1024}$"), NoNewline()] = Field(
        title="Dataset", description="The dataset of tables that are named without one.", examples=["shop"]
    )
    location: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{0,50}$"), NoNewline()] = Field(
        "", title="Location", description="The location of the data. Empty lets BigQuery find it.", examples=["EU"]
    )
    service_account: EnvSecret = Field(
        title="Service account key",
        description="The JSON file of a key of a service account, all of its lines.",
        json_schema_extra={"multiline": True},
    )

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return "bigquery.googleapis.com", 443

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return f"{settings['project']}.{settings['dataset']}"

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        return unusable_key(value)
