"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class ConnectionsConfig(Registers, AppConfig):
    name = "flowapp.connections"

    def register(self) -> None:
        from flowapp.connections.embedded import follow_server
        from flowapp.connections.models import Connection
        from flowapp.connections.rotation import register_encrypted
        from flowapp.embedded import events

        events.server_started.register(follow_server)
        register_encrypted(Connection, "secret")
