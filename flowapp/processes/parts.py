"""The state of the installation's parts. A part that cannot be checked is unknown, never ok."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import BooleanField, ExpressionWrapper, Q

from executors.api import server_name
from flowapp.clock import from_now
from flowapp.processes.heartbeats import STREAM_WORKER, count_alive, spark_name
from flowapp.processes.models import Heartbeat
from ir.words import counted

Status = Literal["ok", "down", "unknown"]
Part = dict[str, str | int]


def part(status: Status, detail: str, **more: int) -> Part:
    return {"status": status, "detail": detail, **more}


def database_health() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return part("down", "The control database does not answer.")
    return part("ok", "The control database answers.")


def broker_health() -> Part:
    if not settings.REDIS_URL:
        return part("unknown", "No broker is configured (FLOW_REDIS_URL).")
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            client.ping()
    except redis.RedisError:
        return part("down", "The broker does not answer.")
    return part("ok", "The broker answers.")


def process_health(role: str) -> Part:
    try:
        alive = count_alive(role)
    except DatabaseError:
        return part("unknown", "The control database does not answer.")
    seconds = f"{settings.HEARTBEAT_SECONDS:g}"
    if not alive:
        return part("down", f"No {role} sent a heartbeat within {seconds} s.", alive=0)
    return part("ok", f"{alive} active in the last {seconds}\u00a0s.", alive=alive)


def spark_health() -> Part:
    """Return the state of Spark; unknown without a worker, because only workers run it."""
    try:
        is_fresh = ExpressionWrapper(Q(seen_at__gt=from_now(-settings.HEARTBEAT_SECONDS)), BooleanField())
        found = Heartbeat.objects.filter(role__in=("worker", "spark")).annotate(is_fresh=is_fresh)
        beats = list(found.values_list("role", "name", "is_fresh"))
    except DatabaseError:
        return part("unknown", "The control database does not answer.")
    sparks = {name: fresh for role, name, fresh in beats if role == "spark"}
    states = [sparks.get(spark_name(name)) for role, name, fresh in beats if role == "worker" and fresh]
    return _spark_part(states)


def _spark_part(states: Sequence[bool | None]) -> Part:
    """Return the state of Spark. `states` are those of the live workers; None is an unknown state."""
    answering = states.count(True)
    if not states:
        return part("unknown", "No worker answers. Only workers run Spark.", alive=0)
    if answering:
        return part("ok", f"Answers in {counted(answering, 'worker')}.", alive=answering)
    if server := server_name():
        text = f"The Spark Connect server {server} answers no worker. Check that it runs and that workers can reach it."
        return part("down", text, alive=0)
    if False in states:
        return part("down", "Spark answered earlier and does not answer now. Restart the worker.", alive=0)
    return part("unknown", "No worker has started Spark yet. This takes up to a minute.", alive=0)


PARTS: dict[str, Callable[[], Part]] = {
    "database": database_health,
    "broker": broker_health,
    "workers": lambda: process_health("worker"),
    "scheduler": lambda: process_health("scheduler"),
    "spark": spark_health,
}


def health_document() -> dict[str, Part]:
    """Return the state of every part, each with a label. Workers for streams are a part where streams are on."""
    parts = {name: look() for name, look in PARTS.items()}
    return parts | ({"streams": process_health(STREAM_WORKER)} if settings.FLOW_STREAMING_ENABLED else {})
