"""The pages of pipelines, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.editor import editing, views

app_name = "pipelines"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("<slug:ident>/", editing.edit, name="edit"),
    path("<slug:ident>/panel/", editing.panel, name="panel"),
    path("<slug:ident>/form/", editing.form, name="form"),
    path("<slug:ident>/fix/", editing.fix, name="fix"),
    path("<slug:ident>/undo/", editing.undo, name="undo"),
    path("<slug:ident>/redo/", editing.redo, name="redo"),
    path("<slug:ident>/discard/", editing.discard, name="discard"),
    path("<slug:ident>/keep/", editing.keep, name="keep"),
    path("<slug:ident>/save/", editing.save, name="save"),
    path("<slug:ident>/run/", editing.run, name="run"),
    path("<slug:ident>/restore/", editing.restore, name="restore"),
    path("<slug:ident>/switch/", views.switch, name="switch"),
    path("<slug:ident>/delete/", views.delete, name="delete"),
]
