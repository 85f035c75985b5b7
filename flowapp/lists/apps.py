"""Django's name of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ListsConfig(AppConfig):
    name = "flowapp.lists"
