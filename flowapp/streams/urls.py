"""URLs of the stream pages, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.streams import views

app_name = "streams"

urlpatterns = [
    path("", views.listing, name="list"),
    path("<slug:slug>/", views.detail, name="detail"),
    path("<slug:slug>/pause/", views.pause, name="pause"),
    path("<slug:slug>/resume/", views.resume, name="resume"),
    path("<slug:slug>/resnapshot/", views.new_snapshot, name="resnapshot"),
    path("<slug:slug>/drop-slot/", views.remove_slot, name="drop_slot"),
]
