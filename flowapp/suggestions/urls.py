"""The pages of suggestions, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.suggestions import views

app_name = "suggestions"

urlpatterns = [
    path("<slug:slug>/<str:node>/", views.of_node, name="node"),
    path("<slug:slug>/<str:node>/sample/", views.sample, name="sample"),
    path("<slug:slug>/<str:node>/accept/", views.take, name="accept"),
    path("<slug:slug>/<str:node>/accept-selected/", views.take_selected, name="accept_selected"),
]
