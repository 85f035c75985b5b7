"""The types of `flow.toml`, and of a project as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from ir.annotations import AnyObject
from ir.base import Id, Spec, Text
from ir.documents import Syntax
from ir.manifests.connections import AnyConnection, DeclaredConnection
from ir.manifests.diagnostics import FileDiagnostic
from ir.manifests.short import Defaults
from ir.parse import Parsed
from ir.pointers import Pointer

PROJECT_FILE = "flow.toml"
FOLDER = "pipelines"
SOURCES = "transforms"
MAX_FILES = 5_000
Entry = Annotated[dict[str, Any], AnyObject()]


class About(Spec):
    """What the project is called."""

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="The name of the project.")
    version: Text | None = Field(None, description="A version that you choose, for information.", examples=["1.4.0"])


class ProjectSpec(Spec):
    """The file flow.toml: the project, its connections and defaults, and pipelines."""

    schema_uri: str | None = Field(
        None, alias="$schema", title="JSON Schema", description="The address of this schema, for editors."
    )
    project: About = Field(description="The name and version of the project.")
    connections: dict[Id, AnyConnection] = Field(default={}, description="Stored connections, by name.")
    defaults: Defaults = Field(Defaults(), description="Common settings of entries in the short form.")
    pipeline: list[Entry] = Field(default=[], title="Pipelines", description="Pipelines, each full or short.")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A pipeline in a file: its position in the file, and its value. A short one may define several pipelines."""

    file: str
    syntax: Syntax
    at: Pointer
    value: dict[str, Any]
    line: int = 1
    is_full: bool = True

    @property
    def location(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class ProjectPipeline:
    """A pipeline of a project: its parsed document, and the manifest that declares it. `table` is its entry in
    `tables`."""

    id: str
    parsed: Parsed
    manifest: Manifest
    table: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        return self.parsed.document


@dataclass(frozen=True, slots=True)
class ProjectConnection:
    """A connection of a project and its line in flow.toml."""

    name: str
    spec: DeclaredConnection
    line: int


@dataclass(frozen=True, slots=True)
class Project:
    """A valid project. `texts` are the files that it was read from, by name."""

    name: str
    version: str | None
    texts: Mapping[str, str]
    connections: Mapping[str, ProjectConnection]
    pipelines: Mapping[str, ProjectPipeline]
    warnings: tuple[FileDiagnostic, ...] = field(default=())
