"""The scheduler process."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from flowapp.processes.heartbeats import HeartbeatThread, process_name
from flowapp.processes.periodic import ON_TIME, TasksThread, tasks_by_thread, tick

TICK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Starts scheduled runs, resends queued runs, recovers lost runs and sends alerts. Several can run at once."

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        tasks = tasks_by_thread()
        on_time = tasks.pop(ON_TIME)
        heartbeat = HeartbeatThread(process_name(), "scheduler")
        beside = [TasksThread(name, own, TICK_SECONDS) for name, own in tasks.items()]
        heartbeat.start()
        for thread in beside:
            thread.start()
        try:
            while not stopped.is_set():
                tick(on_time)
                stopped.wait(TICK_SECONDS)
        finally:
            for thread in beside:
                thread.stop()
            heartbeat.stop()
