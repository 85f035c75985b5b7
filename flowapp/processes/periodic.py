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
from django.utils import timezone

from flowapp.clock import Now, from_now
from flowapp.processes.models import PeriodicTask
from flowapp.registrations import load_registrations

logger = logging.getLogger(__name__)
ON_TIME = "on time"
"""The thread of tasks that query only the control database, so that targets that do not respond do not delay
schedules."""
CLEARING_UP = "clearing up"
"""The thread of tasks that query every target, and may wait for each that does not respond."""


@dataclass(frozen=True, slots=True)
class Task:
    """A periodic task. `run` receives the time. It is called at every tick, or with `seconds` by one scheduler per
    interval.

    Tasks of one `thread` run one after the other, in the order of registration."""

    name: str
    run: Callable[[datetime], object]
    seconds: float = 0
    thread: str = ON_TIME


_tasks: list[Task] = []


def register(*tasks: Task) -> None:
    """Add tasks to the schedulers. Raises ValueError if a name is taken."""
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
    """Run the tasks that are due. `now` is the time for schedules; leases and queues use the database's clock.

    A task that fails is logged and does not prevent the others."""
    moment = now or timezone.now()
    for task in tasks:
        try:
            if not task.seconds or claim(task.name, task.seconds):
                task.run(moment)
        except Exception:
            logger.exception("The periodic task %r failed", task.name)
            connections.close_all()


def claim(name: str, seconds: float) -> bool:
    """Return whether this process runs a task that one process runs per interval of that many seconds."""
    if PeriodicTask.objects.filter(name=name, due_at__lte=Now()).update(due_at=from_now(seconds)):
        return True
    try:
        with transaction.atomic():
            return PeriodicTask.objects.get_or_create(name=name, defaults={"due_at": from_now(seconds)})[1]
    except IntegrityError:
        return False


class TasksThread(threading.Thread):
    """Runs tasks every given number of seconds until `stop` is called."""

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
        """End the thread after its current task; wait at most 10 s for it."""
        self._stopped.set()
        self.join(timeout=10)
