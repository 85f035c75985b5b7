"""URLs of the pages that create pipelines, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.starting import views

app_name = "starting"

urlpatterns = [
    path("", views.home, name="home"),
    path("upload/", views.upload, name="upload"),
    path("files/", views.files, name="files"),
    path("file/", views.from_file, name="file"),
    path("tables/", views.tables, name="tables"),
    path("table/", views.from_table, name="table"),
    path("import/", views.import_page, name="import"),
    path("blank/", views.blank, name="blank"),
]
