"""The pages of rejected rows, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.quarantine import views

app_name = "quarantine"

urlpatterns = [
    path("", views.home, name="home"),
    path("rows/", views.rows, name="rows"),
    path("rows/<uuid:run>/<path:row_id>/", views.row, name="row"),
]
