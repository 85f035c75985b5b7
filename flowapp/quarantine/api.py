"""The API's routes for quarantine."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
