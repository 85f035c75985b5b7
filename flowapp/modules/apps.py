"""Django configuration of this app."""

from __future__ import annotations

from django.apps import AppConfig


class ModulesConfig(AppConfig):
    name = "flowapp.modules"
