"""All URLs of the web process."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from flowapp.api.schema import Schema
from flowapp.home import views as home
from flowapp.web import views

workspace_pages = [
    path("", include("flowapp.home.urls")),
    path("new-pipeline/", include("flowapp.starting.urls")),
    path("pipelines/", include("flowapp.editor.urls")),
    path("runs/", include("flowapp.runs.urls")),
    path("errors/", include("flowapp.quarantine.urls")),
    path("filters/", include("flowapp.lists.urls")),
    path("files/", include("flowapp.files.urls")),
    path("backups/", include("flowapp.backups.urls")),
    path("health/", include("flowapp.health.urls")),
    path("channels/", include("flowapp.channels.urls")),
    path("trace/", include("flowapp.tracing.urls")),
    path("suggestions/", include("flowapp.suggestions.urls")),
    path("node-previews/", include("flowapp.node_previews.urls")),
    path("connections/", include("flowapp.connections.urls")),
    path("modules/", include("flowapp.modules.urls")),
    path("plan/", include("flowapp.manifests.urls")),
    path("watermarks/", include("flowapp.watermarks.urls")),
    path("triggers/", include("flowapp.triggers.urls")),
    path("streams/", include("flowapp.streams.urls")),
    path("schema-changes/", include("flowapp.schema_changes.urls")),
    path("backfills/", include("flowapp.backfills.urls")),
]

api: list[URLPattern | URLResolver] = [
    path("schema/", Schema.as_view(), name="schema"),
    path("", include("flowapp.accounts.api")),
    path("", include("flowapp.pipelines.api")),
    path("", include("flowapp.runs.api")),
    path("", include("flowapp.quarantine.api")),
    path("", include("flowapp.files.api")),
    path("", include("flowapp.backups.api")),
    path("", include("flowapp.health.api")),
    path("", include("flowapp.channels.api")),
    path("", include("flowapp.tracing.api")),
    path("", include("flowapp.suggestions.api")),
    path("", include("flowapp.node_previews.api")),
    path("", include("flowapp.connections.api")),
    path("", include("flowapp.modules.api")),
    path("", include("flowapp.watermarks.api")),
    path("", include("flowapp.triggers.api")),
    path("", include("flowapp.streams.api")),
    path("", include("flowapp.schema_changes.api")),
    path("", include("flowapp.backfills.api")),
]

urlpatterns = [
    path("", home.start, name="start"),
    path("workspaces/", home.workspaces, name="workspaces"),
    path("docs/", home.docs, name="docs_index"),
    path("docs/<slug:name>/", home.docs, name="docs"),
    path("api/", include((api, "api"))),
    # Some of these are outside any workspace: login, password.
    path("", include("flowapp.accounts.urls")),
    path("w/<slug:workspace>/", include(workspace_pages)),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
