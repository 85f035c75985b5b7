"""What the web process answers."""

from __future__ import annotations

from django.urls import path

from flowapp.health.views import health

urlpatterns = [path("api/health/", health, name="health")]
