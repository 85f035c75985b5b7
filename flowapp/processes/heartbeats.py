"""Heartbeats of workers and schedulers."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, connections

from flowapp.clock import Now, from_now
from flowapp.processes.models import Heartbeat

logger = logging.getLogger(__name__)
FORGET_AFTER = 24 * 3600.0
STREAM_WORKER = "stream worker"
"""The role of workers that run streams only."""


def process_name() -> str:
    """Return a name that no other process ever has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def spark_name(process: str) -> str:
    """Return the name of the heartbeat of a process's Spark."""
    return f"{process} spark"


def beat(name: str, role: str) -> None:
    Heartbeat.objects.update_or_create(name=name, defaults={"role": role, "seen_at": Now()})


def count_alive(role: str) -> int:
    """Return the number of processes of that role with a recent heartbeat."""
    return Heartbeat.objects.filter(role=role, seen_at__gt=from_now(-settings.HEARTBEAT_SECONDS)).count()


def forget_dead() -> None:
    """Delete the heartbeats of processes that ended long ago."""
    Heartbeat.objects.filter(seen_at__lt=from_now(-FORGET_AFTER)).delete()


class HeartbeatThread(threading.Thread):
    """Writes heartbeats until `stop` is called, whenever `lives` returns True. `lives` may be slow.

    Database errors are logged and retried: a missing heartbeat is what others react to."""

    def __init__(self, name: str, role: str, lives: Callable[[], bool] = lambda: True) -> None:
        super().__init__(name=f"{role}-heartbeat", daemon=True)
        self._process, self._role, self._lives, self._stopped = name, role, lives, threading.Event()

    def run(self) -> None:
        try:
            while True:
                self._beat()
                if self._stopped.wait(settings.HEARTBEAT_SECONDS / 4):
                    return
        finally:
            connections.close_all()

    def _beat(self) -> None:
        try:
            if self._lives():
                beat(self._process, self._role)
        except DatabaseError as error:
            logger.warning("Heartbeat not written: %s", type(error).__name__)
            connections.close_all()

    def stop(self) -> None:
        """End the thread and delete the process's heartbeat."""
        self._stopped.set()
        self.join(timeout=5)
        Heartbeat.objects.filter(name=self._process).delete()
