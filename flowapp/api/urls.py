"""Everything under `/api/`: each app brings its own routes in its `api` module."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny

from flowapp.health.views import health

app_name = "api"

urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny]), name="schema"),
    path("health/", health, name="health"),
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
