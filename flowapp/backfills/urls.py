"""URLs of the pages of backfills, below `/w/<workspace>/backfills/`."""

from __future__ import annotations

from django.urls import path

from flowapp.backfills import views

app_name = "backfills"

urlpatterns = [
    path("<slug:slug>/", views.detail, name="detail"),
    path("<slug:slug>/start/", views.start_backfill, name="start"),
    path("<slug:slug>/pause/", views.pause_backfill, name="pause"),
    path("<slug:slug>/resume/", views.resume_backfill, name="resume"),
    path("<slug:slug>/retry/", views.retry_backfill, name="retry"),
    path("<slug:slug>/outdated/", views.load_outdated, name="outdated"),
    path("<slug:slug>/rewind/", views.rewind_backfill, name="rewind"),
]
