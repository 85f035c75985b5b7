"""URLs of the trigger pages, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.triggers import views

app_name = "triggers"

urlpatterns = [
    path("<slug:slug>/", views.listing, name="list"),
    path("<slug:slug>/add/", views.add, name="add"),
    path("<slug:slug>/<uuid:trigger>/rotate/", views.rotate, name="rotate"),
    path("<slug:slug>/<uuid:trigger>/remove/", views.remove, name="remove"),
]
