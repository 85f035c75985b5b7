"""The pages of connections, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.connections import views

app_name = "connections"

urlpatterns = [path("", views.list_page, name="list")]
