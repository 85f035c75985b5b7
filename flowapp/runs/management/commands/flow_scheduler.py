"""The scheduler process."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from flowapp.channels.courier import DeliveryThread
from flowapp.health.heartbeats import HeartbeatThread, process_name
from flowapp.runs.scheduler import BESIDE, ON_TIME, StepsThread, tick

TICK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Fires schedules, sends queued runs again, takes back lost ones, tells of alerts. Any number may run."

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        heartbeat = HeartbeatThread(process_name(), "scheduler")
        deliveries = DeliveryThread()
        beside = [StepsThread(name, steps, TICK_SECONDS) for name, steps in BESIDE.items()]
        heartbeat.start()
        deliveries.start()
        for thread in beside:
            thread.start()
        try:
            while not stopped.is_set():
                tick(ON_TIME)
                stopped.wait(TICK_SECONDS)
        finally:
            for thread in beside:
                thread.stop()
            deliveries.stop()
            heartbeat.stop()
