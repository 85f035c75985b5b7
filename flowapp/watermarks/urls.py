"""URLs of the watermark pages, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.watermarks import views

app_name = "watermarks"

urlpatterns = [
    path("<slug:slug>/<slug:node>/", views.detail, name="detail"),
    path("<slug:slug>/<slug:node>/set/", views.set_to, name="set"),
    path("<slug:slug>/<slug:node>/reset/", views.reset, name="reset"),
]
