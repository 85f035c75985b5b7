"""The pages of a workspace, as its menu and its search list them."""

from __future__ import annotations

from typing import NamedTuple

from django.urls import reverse


class Entry(NamedTuple):
    """A page: the name of its URL, its label, its icon, and the namespace whose pages make it the current one."""

    url: str
    label: str
    icon: str

    def address(self, workspace: str) -> str:
        return reverse(self.url, args=[workspace])

    @property
    def namespace(self) -> str:
        return self.url.partition(":")[0]


ENTRIES = (
    Entry("pipelines:list", "Pipelines", "route"),
    Entry("runs:list", "Runs", "player-play"),
    Entry("quarantine:home", "Errors", "alert-triangle"),
    Entry("files:list", "Files", "files"),
    Entry("backups:list", "Backups", "history"),
    Entry("health:home", "Health", "heartbeat"),
    Entry("connections:list", "Connections", "plug-connected"),
    Entry("accounts:settings", "Settings", "settings"),
)


class Action(NamedTuple):
    """Something to do, on the page where it is done, for those with at least `role`."""

    url: str
    label: str
    icon: str
    role: str
    suffix: str = ""
    in_workspace: bool = True

    def address(self, workspace: str) -> str:
        return reverse(self.url, args=[workspace] if self.in_workspace else []) + self.suffix


ACTIONS = (
    Action("pipelines:list", "New pipeline", "plus", "editor", "?new=1"),
    Action("files:upload", "Upload a file", "upload", "editor"),
    Action("connections:add", "Add a connection", "plug", "admin"),
    Action("tracing:home", "Where did my row go?", "search", "editor"),
    Action("channels:list", "Send alerts by webhook or email", "bell", "admin"),
    Action("accounts:settings", "Add a member", "user-plus", "admin", "#members"),
    Action("accounts:settings", "Make an API token", "key", "admin", "#tokens"),
    Action("accounts:password", "Set your password", "password", "viewer", in_workspace=False),
)
