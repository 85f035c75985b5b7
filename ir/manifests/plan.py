"""The types of a plan: the changes that applying a project would make. The JSON of `flow plan` and its schema are
generated from them."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from ir.base import Spec
from ir.json_schema import schema_of

PLAN_SCHEMA_ID = "https://flow.example/schemas/plan-1.0.json"
Action = Literal["new", "changed", "restored", "removed", "drifted", "adopted", "unchanged"]
DriftKind = Literal["edited", "archived", "deleted", "unmanaged", "other_project"]
Need = Literal["force", "yes", "admin"]


class PlanPart(Spec):
    """A part of a plan."""

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Return a part without fields that are None."""
        return cls(**{name: value for name, value in fields.items() if value is not None})


class Statement(PlanPart):
    """A statement that changes the structure of a target database."""

    sql: str = Field(title="SQL", description="The exact statement.")
    lock: str = Field(description="The lock that it takes on the table; empty for a new table.")
    rewrites: bool = Field(description="Whether the server rewrites all rows of the table.")
    by: Literal["flow", "you"] = Field(
        description="flow: the first load runs it, or the first load that rejects rows. you: run it before the next "
        "load."
    )


class TableChange(PlanPart):
    """What happens to the structure of a table that the pipeline writes."""

    node: str = Field(description="The id of the target node, or of the validate node that rejects rows.")
    rows: Literal["loaded", "rejected"] = Field(description="Which rows the table is for.")
    connection: str = Field(description="The connection over which the table is written.")
    table: str = Field(description="The table, with its schema.")
    statements: list[Statement] = Field(description="The statements, in order.")
    notes: list[str] = Field(description="What is unknown before a run, and how rows are replaced.")


class Drift(PlanPart):
    """A change that applying would undo: in the browser since the project was last applied, or by another project."""

    kind: DriftKind = Field(
        description="edited, archived or deleted in the browser; unmanaged: made in the browser and never applied; "
        "other_project: applied by another project."
    )
    words: list[str] = Field(description="The differences between the applied state and the current state.")
    patch: list[dict[str, Any]] = Field(description="The same differences as a JSON Patch.")
    by: str | None = Field(None, description="Who saved the newest version.")

    @property
    def heading(self) -> str:
        if self.kind == "other_project":
            return "Applied by another project"
        by = f" by {self.by}" if self.by else ""
        return f"Changed in the browser{by} since the last apply"


class ScheduleChange(PlanPart):
    """Two schedules as text. None means no schedule."""

    before: str | None = Field(None, description="The current schedule; missing if there is none.")
    after: str | None = Field(None, description="The schedule of the manifest; missing if there is none.")


class Problem(PlanPart):
    """A diagnostic of a pipeline against its databases."""

    code: str = Field(description="The code of the diagnostic.")
    severity: Literal["error", "warning"] = Field(description="An error makes the next run fail.")
    message: str = Field(description="What is wrong.")
    hint: str = Field(description="What to do.")
    path: str = Field(description="The position in the document, as a JSON Pointer.")


class PipelineChange(PlanPart):
    """What applying would do to one pipeline."""

    id: str = Field(title="ID", description="The id of the pipeline.")
    action: Action = Field(
        description="new, changed, removed or unchanged; restored: archived by an earlier apply and declared again; "
        "adopted: there with the same content, and not yet recorded as applied; drifted: changed in the browser only."
    )
    file: str | None = Field(None, description="The file of the manifest.")
    line: int | None = Field(None, description="The line of the manifest.")
    never_ran: bool = Field(description="Whether the pipeline has never run.")
    words: list[str] = Field(description="The changes to the document, in words.")
    patch: list[dict[str, Any]] = Field(description="The changes as a JSON Patch on the current document.")
    schedule: ScheduleChange | None = Field(None, description="The change of the schedule, if there is one.")
    drift: Drift | None = Field(None, description="Changes in the browser or by another project.")
    tables: list[TableChange] = Field(description="Changes to the structure of tables.")
    estimated_rows: int | None = Field(None, description="Rows that the next run reads, if the source can say cheaply.")
    problems: list[Problem] = Field(description="Problems of load modes and tables.")
    destructive: list[str] = Field(description="What is lost or replaced by applying or by the next run.")
    needs: list[Need] = Field(description="The options or role without which the change is not applied.")


class ConnectionChange(PlanPart):
    """What applying would do to one stored connection."""

    name: str = Field(description="The name of the connection.")
    action: Action = Field(description="As for pipelines.")
    line: int | None = Field(None, description="The line in flow.toml.")
    words: list[str] = Field(description="The changes, in words. Secrets are not shown.")
    drift: Drift | None = Field(None, description="Changes in the browser or by another project.")
    problems: list[Problem] = Field(description="Why the connection cannot be applied.")
    destructive: list[str] = Field(description="What is lost by applying.")
    needs: list[Need] = Field(description="The options or role without which the change is not applied.")


class Plan(PlanPart):
    """What applying a project would change in a workspace."""

    schema_uri: str | None = Field(
        None, alias="$schema", title="JSON Schema", description="The address of this schema."
    )
    project: str = Field(description="The name of the project.")
    version: str | None = Field(None, description="The version that the project gives itself.")
    workspace: str = Field(description="The workspace.")
    fingerprint: str = Field(description="A hash of all changes. It changes with the files and the workspace.")
    summary: dict[str, int] = Field(description="The number of pipelines by action, and of connections that change.")
    connections: list[ConnectionChange] = Field(description="Connections that change.")
    pipelines: list[PipelineChange] = Field(description="Pipelines that change.")
    paused: list[str] = Field(
        description="Pipelines of the project that were paused or disabled in the browser. They stay so."
    )
    unmanaged: list[str] = Field(description="Pipelines of the workspace that no manifest declares.")
    others: list[str] = Field(
        default=[],
        description="Pipelines of the workspace that other projects have applied and this one does not declare.",
    )
    warnings: list[dict[str, Any]] = Field(description="Warnings of the manifests, each with its file and line.")

    @property
    def is_empty(self) -> bool:
        return not self.connections and not self.pipelines

    @property
    def needs(self) -> set[Need]:
        connections = {need for change in self.connections for need in change.needs}
        return connections | {need for change in self.pipelines for need in change.needs}

    @property
    def errors(self) -> list[Problem]:
        """The problems that must be solved before anything is applied."""
        return [p for change in self.connections for p in change.problems if p.severity == "error"]


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of `flow plan --json`."""
    return schema_of(Plan) | {"$id": PLAN_SCHEMA_ID, "title": "Flow plan, version 1.0"}
