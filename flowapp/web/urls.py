"""Pages of a workspace that belong to no app."""

from __future__ import annotations

from django.urls import path

from flowapp.web import views

app_name = "web"

urlpatterns = [path("", views.workspace_home, name="home"), path("search/", views.search, name="search")]
