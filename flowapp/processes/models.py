"""Heartbeats of processes, and due times of periodic tasks."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Heartbeat(models.Model):
    """The last heartbeat of a worker or scheduler process."""

    name = models.CharField(max_length=200, primary_key=True)
    role = models.CharField(max_length=20)
    seen_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["role", "-seen_at"], name="heartbeat_newest"),)

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


class PeriodicTask(models.Model):
    """When a task of the schedulers is due next. The scheduler that moves `due_at` forward executes the task."""

    name = models.CharField(max_length=60, primary_key=True)
    due_at = models.DateTimeField()
    objects: ClassVar[models.Manager[PeriodicTask]]

    def __str__(self) -> str:
        return self.name
