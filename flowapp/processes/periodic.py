"""The periodic tasks of schedulers: each app registers its own. Any number of schedulers may run: a task that runs once
per interval is claimed by compare-and-swap."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connections, transaction
from django.db.models.functions import Now
from django.utils import timezone

from flowapp.clock import from_now
from flowapp.processes.models import PeriodicTask
from flowapp.registrations import load_registrations

logger = logging.getLogger(__name__)
ON_TIME = "on time"
"""The thread of what asks the control database alone: schedules fire in time however many targets do not answer."""
CLEARING_UP = "clearing up"
"""The thread of what asks every target, and may wait for each that does not answer."""


@dataclass(frozen=True, slots=True)
class Task:
    """`run` gets the time. It is called at every tick, or by one of all schedulers once in so many `seconds`.

    Tasks of one `thread` run one after the other, in the order in which they were registered.
    """

    name: str
    run: Callable[[datetime], object]
    seconds: float = 0
    thread: str = ON_TIME


_tasks: list[Task] = []


def register(*tasks: Task) -> None:
    """Let schedulers do these. Raises ValueError for a name that is taken."""
    for task in tasks:
        if task.name in {known.name for known in _tasks}:
            raise ValueError(f"There is a periodic task {task.name!r} already.")
        _tasks.append(task)


def tasks_by_thread() -> dict[str, list[Task]]:
    load_registrations()
    by_thread: dict[str, list[Task]] = defaultdict(list)
    for task in _tasks:
        by_thread[task.thread].append(task)
    return by_thread


def tick(tasks: Iterable[Task], now: datetime | None = None) -> None:
    """Do what is due of these. `now` is for schedules alone; leases and queues go by the database's clock.

    A task that fails is logged and does not keep the others from being done.
    """
    moment = now or timezone.now()
    for task in tasks:
        try:
            if not task.seconds or claim(task.name, task.seconds):
                task.run(moment)
        except Exception:
            logger.exception("The periodic task %r failed", task.name)
            connections.close_all()


def claim(name: str, seconds: float) -> bool:
    """Whether this process is to do a task that one process does once in so many seconds."""
    if PeriodicTask.objects.filter(name=name, due_at__lte=Now()).update(due_at=from_now(seconds)):
        return True
    try:
        with transaction.atomic():
            return PeriodicTask.objects.get_or_create(name=name, defaults={"due_at": from_now(seconds)})[1]
    except IntegrityError:
        return False


class TasksThread(threading.Thread):
    """Ticks every so many seconds until `stop` is called."""

    def __init__(self, name: str, tasks: Iterable[Task], seconds: float) -> None:
        super().__init__(name=name, daemon=True)
        self._tasks, self._seconds, self._stopped = tuple(tasks), seconds, threading.Event()

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                tick(self._tasks)
                self._stopped.wait(self._seconds)
        finally:
            connections.close_all()

    def stop(self) -> None:
        """Let it end after the task that it is at, which is waited for a while."""
        self._stopped.set()
        self.join(timeout=10)
