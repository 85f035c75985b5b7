"""Events of the embedded services for the apps above."""

from __future__ import annotations

from flowapp.hook import Hook

server_started: Hook[[int], None] = Hook()
"""This process started the embedded PostgreSQL, which answers on this port, and the control database is migrated."""
