"""The pages of files, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.files import views

app_name = "files"

urlpatterns = [
    path("", views.list_page, name="list"),
    path("upload/", views.upload, name="upload"),
    path("again/<slug:slug>/", views.all_again, name="all_again"),
    path("<uuid:unit>/again/", views.again, name="again"),
    path("<uuid:unit>/leave-out/", views.excluded, name="leave_out"),
]
