"""The pages of runs, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.runs import views

app_name = "runs"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("start/<slug:slug>/", views.start, name="start"),
    path("preview/<slug:slug>/", views.preview, name="preview"),
    path("<uuid:run>/", views.detail, name="detail"),
    path("<uuid:run>/cancel/", views.cancel, name="cancel"),
    path("<uuid:run>/hooks/<str:hook>/", views.run_hook, name="run_hook"),
    path("<uuid:run>/approve/", views.approve, name="approve"),
    path("<uuid:run>/discard/", views.discard, name="discard"),
]
