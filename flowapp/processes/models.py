"""Who is alive, and when periodic tasks are due."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Heartbeat(models.Model):
    """A worker or scheduler process that says that it lives."""

    name = models.CharField(max_length=200, primary_key=True)
    role = models.CharField(max_length=20)
    seen_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["role", "-seen_at"], name="heartbeat_newest"),)

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


class PeriodicTask(models.Model):
    """When a task of the schedulers is due next; the scheduler that moves `due_at` forward does it."""

    name = models.CharField(max_length=60, primary_key=True)
    due_at = models.DateTimeField()
    objects: ClassVar[models.Manager[PeriodicTask]]

    def __str__(self) -> str:
        return self.name
