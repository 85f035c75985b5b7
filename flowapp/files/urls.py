"""The pages of files, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.files import selected, undo, views

app_name = "files"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("selected/", selected.act, name="selected"),
    path("upload/", views.upload, name="upload"),
    path("uploads/<uuid:upload>/", views.upload_page, name="of_upload"),
    path("uploads/<uuid:upload>/download/", views.download_upload, name="download_upload"),
    path("uploads/<uuid:upload>/delete/", views.delete, name="delete"),
    path("<uuid:unit>/", views.unit_page, name="of_unit"),
    path("<uuid:unit>/undo/", undo.undo_page, name="undo"),
    path("<uuid:unit>/download/", views.download_unit, name="download_unit"),
    path("again/<slug:slug>/", views.all_again, name="all_again"),
    path("<uuid:unit>/again/", views.again, name="again"),
    path("<uuid:unit>/leave-out/", views.excluded, name="leave_out"),
]
