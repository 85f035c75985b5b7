"""The pages of backups, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.backups import views

app_name = "backups"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("<uuid:backup>/restore/", views.restore, name="restore"),
]
