"""The scheduler process."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from flowapp.channels.courier import Courier
from flowapp.health.heartbeats import HeartbeatThread, process_name
from flowapp.runs.scheduler import tick

TICK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Fires schedules, sends queued runs again, takes back lost ones, tells of alerts. Any number may run."

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        heartbeat = HeartbeatThread(process_name(), "scheduler")
        courier = Courier()
        heartbeat.start()
        courier.start()
        try:
            while not stopped.is_set():
                tick()
                stopped.wait(TICK_SECONDS)
        finally:
            courier.stop()
            heartbeat.stop()
