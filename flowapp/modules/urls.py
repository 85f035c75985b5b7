"""The page of custom transforms, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.modules import views

app_name = "modules"

urlpatterns = [
    path("", views.listing, name="list"),
    path("add/", views.add, name="add"),
    path("<slug:name>/<slug:sha256>/remove/", views.remove, name="remove"),
]
