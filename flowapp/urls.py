"""What the web process answers."""

from __future__ import annotations

from django.urls import include, path

from flowapp.web import views

workspace_pages = [
    path("", include("flowapp.web.urls")),
    path("pipelines/", include("flowapp.pipelines.urls")),
    path("runs/", include("flowapp.runs.urls")),
    path("errors/", include("flowapp.quarantine.urls")),
    path("files/", include("flowapp.files.urls")),
    path("backups/", include("flowapp.backups.urls")),
    path("health/", include("flowapp.health.urls")),
    path("channels/", include("flowapp.channels.urls")),
    path("trace/", include("flowapp.tracing.urls")),
    path("suggestions/", include("flowapp.suggestions.urls")),
    path("connections/", include("flowapp.connections.urls")),
    path("watermarks/", include("flowapp.watermarks.urls")),
]

urlpatterns = [
    path("", views.start, name="start"),
    path("workspaces/", views.workspaces, name="workspaces"),
    path("docs/<slug:name>/", views.docs, name="docs"),
    path("api/", include("flowapp.api.urls")),
    # Some of these are outside any workspace: login, password.
    path("", include("flowapp.accounts.urls")),
    path("w/<slug:workspace>/", include(workspace_pages)),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
