"""URLs of the preview fragments in the editor, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.node_previews import views

app_name = "node_previews"

urlpatterns = [
    path("<slug:slug>/", views.start, name="start"),
    path("<slug:slug>/edit/", views.edit, name="edit"),
    path("<slug:slug>/<uuid:preview>/", views.look, name="look"),
    path("<slug:slug>/<uuid:preview>/cancel/", views.cancel, name="cancel"),
]
