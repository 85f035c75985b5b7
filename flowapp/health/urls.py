"""The pages of health, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.health import views

app_name = "health"

urlpatterns = [
    path("", views.home, name="home"),
    path("widget/", views.widget, name="widget"),
    path("alerts/<uuid:alert>/ack/", views.ack, name="ack"),
    path("alerts/<uuid:alert>/resolve/", views.close, name="resolve"),
]
