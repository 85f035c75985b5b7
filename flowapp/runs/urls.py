"""The pages of runs, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.runs import views

app_name = "runs"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("<uuid:run>/", views.detail, name="detail"),
]
