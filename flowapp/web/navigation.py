"""The pages of a workspace for its menu and its search."""

from __future__ import annotations

from typing import NamedTuple

from django.urls import reverse


class Entry(NamedTuple):
    """A page for members with at least `role`: the name of its URL, its label and its icon. Pages of its namespace, and
    of those in `also`, mark it as current."""

    url: str
    label: str
    icon: str
    also: tuple[str, ...] = ()
    role: str = "viewer"

    def address(self, workspace: str) -> str:
        return reverse(self.url, args=[workspace])

    @property
    def namespaces(self) -> tuple[str, ...]:
        return self.url.partition(":")[0], *self.also


ENTRIES = (
    Entry(
        "pipelines:list",
        "Pipelines",
        "route",
        also=("starting", "suggestions", "tracing", "triggers", "watermarks", "backfills"),
    ),
    Entry("runs:list", "Runs", "player-play"),
    Entry("streams:list", "Streams", "arrows-exchange"),
    Entry("quarantine:home", "Errors", "alert-triangle"),
    Entry("files:list", "Files", "files"),
    Entry("backups:list", "Backups", "history"),
    Entry("schema_changes:list", "Schema changes", "columns"),
    Entry("health:home", "Health", "heartbeat"),
    Entry("connections:list", "Connections", "plug-connected"),
    Entry("modules:list", "Custom transforms", "puzzle"),
    Entry("manifests:home", "Plan", "file-diff", role="editor"),
    Entry("accounts:settings", "Settings", "settings"),
)


class Action(NamedTuple):
    """An action with the page where it is done, for members with at least `role`."""

    url: str
    label: str
    icon: str
    role: str
    suffix: str = ""
    in_workspace: bool = True

    def address(self, workspace: str) -> str:
        return reverse(self.url, args=[workspace] if self.in_workspace else []) + self.suffix


ACTIONS = (
    Action("starting:home", "New pipeline", "plus", "editor"),
    Action("files:upload", "Upload a file", "upload", "editor"),
    Action("connections:choose", "Add a connection", "plug", "admin"),
    Action("tracing:home", "Where did my row go?", "search", "editor"),
    Action("channels:list", "Send alerts by webhook or email", "bell", "admin"),
    Action("accounts:settings", "Add a member", "user-plus", "admin", "#members"),
    Action("accounts:settings", "Make an API token", "key", "admin", "#tokens"),
    Action("accounts:password", "Set your password", "password", "viewer", in_workspace=False),
)
