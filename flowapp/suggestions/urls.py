"""The pages of suggestions, below `/w/<workspace>/`."""

from __future__ import annotations

from django.urls import path

from flowapp.suggestions import views

app_name = "suggestions"

urlpatterns = [
    path("<slug:ident>/<str:node>/", views.of_node, name="node"),
    path("<slug:ident>/<str:node>/sample/", views.sample, name="sample"),
    path("<slug:ident>/<str:node>/accept/", views.take, name="accept"),
]
