"""URLs of "Where did my row go?", below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.tracing import views

app_name = "tracing"

urlpatterns = [
    path("", views.home, name="home"),
    path("<slug:slug>/", views.of_pipeline, name="pipeline"),
]
