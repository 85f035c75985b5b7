"""The health check of worker and scheduler containers."""

from __future__ import annotations

import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from flowapp.clock import from_now
from flowapp.processes.heartbeats import STREAM_WORKER
from flowapp.processes.models import Heartbeat


class Command(BaseCommand):
    help = "Fails unless a process of this role on this machine sent a heartbeat recently."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", choices=("worker", STREAM_WORKER, "scheduler"))

    def handle(self, *args: Any, role: str, **options: Any) -> None:
        lately = from_now(-settings.HEARTBEAT_SECONDS)
        here = f"{socket.gethostname()}:"
        if not Heartbeat.objects.filter(role=role, name__startswith=here, seen_at__gt=lately).exists():
            raise CommandError(f"No {role} of {here[:-1]} sent a heartbeat within {settings.HEARTBEAT_SECONDS:g} s.")
