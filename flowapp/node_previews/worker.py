"""Threads of a worker process that make previews. They share Spark with runs, but not Celery's threads, which may all
be busy with loads."""

from __future__ import annotations

import logging
import threading
from typing import Any

import redis
from celery.signals import worker_init, worker_shutting_down
from django.conf import settings
from django.db import close_old_connections

from flowapp.logs import log_crash
from flowapp.node_previews.executing import execute
from flowapp.node_previews.store import give_back, take

logger = logging.getLogger(__name__)
THREADS = 2
PAUSE_SECONDS = 2.0
_threads: list[PreviewThread] = []


class PreviewThread(threading.Thread):
    """Makes previews, one after the other, until it is stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(name=f"previews {number}", daemon=True)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop making previews. A preview in progress ends with the process; one that is taken after this is put
        back."""
        self._stopped.set()

    def run(self) -> None:
        is_reached = True
        while not self._stopped.is_set():
            try:
                self._make_next()
                is_reached = True
            except redis.RedisError as error:
                if is_reached:
                    logger.warning("No previews, the broker does not answer: %s", type(error).__name__)
                is_reached = False
                self._stopped.wait(PAUSE_SECONDS)
            except Exception as error:  # noqa: BLE001 - log_crash logs it without row values
                log_crash(logger, "A preview was dropped", error)

    def _make_next(self) -> None:
        if preview := take(seconds=1):
            if self._stopped.is_set():
                give_back(preview)
                return
            close_old_connections()
            try:
                execute(preview)
            finally:
                close_old_connections()


@worker_init.connect
def start(**_: Any) -> None:
    if settings.REDIS_URL:
        _threads.extend(PreviewThread(number) for number in range(THREADS))
        for thread in _threads:
            thread.start()


@worker_shutting_down.connect
def stop(**_: Any) -> None:
    while _threads:
        _threads.pop().stop()
