"""What the web process answers."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from flowapp.home import views as home
from flowapp.web import views

workspace_pages = [
    path("", include("flowapp.home.urls")),
    path("pipelines/", include("flowapp.editor.urls")),
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

api: list[URLPattern | URLResolver] = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
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
    path("", include("flowapp.connections.api")),
    path("", include("flowapp.watermarks.api")),
]

urlpatterns = [
    path("", home.start, name="start"),
    path("workspaces/", home.workspaces, name="workspaces"),
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
