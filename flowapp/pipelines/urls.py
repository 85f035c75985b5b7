"""The pages of pipelines, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.pipelines import views

app_name = "pipelines"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("<slug:ident>/", views.edit, name="edit"),
]
