"""The pages of changes of columns, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.schema_changes import views

app_name = "schema_changes"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("accept/", views.accept, name="accept"),
    path("<uuid:change>/reject/", views.reject, name="reject"),
]
