"""The pages of quarantine, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.quarantine import views

app_name = "quarantine"

urlpatterns = [path("", views.home, name="home")]
