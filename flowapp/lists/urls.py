"""The pages of saved filters, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.lists import views

app_name = "lists"

urlpatterns = [
    path("save/", views.save, name="save_filter"),
    path("<uuid:saved_filter>/delete/", views.delete, name="delete_filter"),
]
