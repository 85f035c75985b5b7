"""URLs of the Plan pages, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.manifests import views

app_name = "manifests"

urlpatterns = [
    path("", views.home, name="home"),
    path("upload/", views.upload, name="upload"),
    path("folder/", views.propose_folder, name="folder"),
    path("<uuid:proposal>/", views.detail, name="detail"),
    path("<uuid:proposal>/diff/<slug:slug>/", views.diff, name="diff"),
    path("<uuid:proposal>/approve/", views.approve, name="approve"),
    path("<uuid:proposal>/apply/", views.apply, name="apply"),
    path("<uuid:proposal>/discard/", views.discard, name="discard"),
    path("<uuid:proposal>/revert/", views.revert, name="revert"),
]
