"""The pages of pipelines, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.editor import editing, outlook, selected, views

app_name = "pipelines"

urlpatterns = [
    path("", views.list_page, name="list"),
    # No pipeline id begins with a hyphen.
    path("-/selected/", selected.act, name="selected"),
    path("-/delete/", selected.delete, name="delete_selected"),
    path("<slug:slug>/", editing.edit, name="edit"),
    path("<slug:slug>/panel/", editing.panel, name="panel"),
    path("<slug:slug>/form/", editing.form, name="form"),
    path("<slug:slug>/outlook/", outlook.outlook, name="outlook"),
    path("<slug:slug>/detect/", editing.detect, name="detect"),
    path("<slug:slug>/streams/", editing.streams, name="streams"),
    path("<slug:slug>/fix/", editing.fix, name="fix"),
    path("<slug:slug>/undo/", editing.undo, name="undo"),
    path("<slug:slug>/redo/", editing.redo, name="redo"),
    path("<slug:slug>/discard/", editing.discard, name="discard"),
    path("<slug:slug>/keep/", editing.keep, name="keep"),
    path("<slug:slug>/save/", editing.save, name="save"),
    path("<slug:slug>/run/", editing.run, name="run"),
    path("<slug:slug>/restore/", editing.restore, name="restore"),
    path("<slug:slug>/switch/", views.switch, name="switch"),
    path("<slug:slug>/favourite/", views.favourite, name="favourite"),
    path("<slug:slug>/duplicate/", views.duplicate, name="duplicate"),
    path("<slug:slug>/archive/", views.archive, name="archive"),
    path("<slug:slug>/delete/", views.delete, name="delete"),
]
