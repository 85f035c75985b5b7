"""URLs of the run pages, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.runs import log_views, views

app_name = "runs"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("cancel/", views.cancel_selected, name="cancel_selected"),
    path("start/<slug:slug>/", views.start, name="start"),
    path("preview/<slug:slug>/", views.preview, name="preview"),
    path("<uuid:run>/", views.detail, name="detail"),
    path("<uuid:run>/log/", log_views.log, name="log"),
    path("<uuid:run>/log.txt", log_views.log_text, name="log_text"),
    path("<uuid:run>/tables/<str:node>/", views.table, name="table"),
    path("<uuid:run>/cancel/", views.cancel, name="cancel"),
    path("<uuid:run>/retry/", views.retry, name="retry"),
    path("<uuid:run>/hooks/<str:hook>/", views.run_hook, name="run_hook"),
    path("<uuid:run>/approve/", views.approve, name="approve"),
    path("<uuid:run>/discard/", views.discard, name="discard"),
]
