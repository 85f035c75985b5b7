"""URLs of the pages that belong to no other app."""

from __future__ import annotations

from django.urls import path

from flowapp.home import views

app_name = "home"

urlpatterns = [
    path("", views.workspace_home, name="home"),
    path("search/", views.search, name="search"),
    path("first-steps/hide/", views.hide_steps, name="hide_first_steps"),
]
