"""The Celery application. State in databases makes lost and repeated messages harmless."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowapp.settings")
RUN_TASK = "flowapp.runs.tasks.run"
STREAM_TASK = "flowapp.runs.tasks.stream"
HOOK_TASK = "flowapp.runs.tasks.hook"
STREAM_QUEUE = "flow-streams"
"""The queue of the workers for streams, which occupy a thread for as long as they run."""

AFTER_OTHERS = 9
"""The priority of messages that workers take only if no other message waits. Redis has a list for each priority, and
workers ask them in their order, 0 first."""

app = Celery("flow", include=["flowapp.runs.tasks", "flowapp.runs.worker", "flowapp.node_previews.worker"])


def configure() -> None:
    """Read the settings here, not at import, so that a process can choose its settings first."""
    from django.conf import settings

    app.conf.update(
        broker_url=settings.REDIS_URL or "memory://",
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "visibility_timeout": 3600,
            "global_keyprefix": "flow:",
            "socket_connect_timeout": 3,
            "socket_timeout": 10,
        },
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_default_queue="flow-runs",
        task_routes={STREAM_TASK: {"queue": STREAM_QUEUE}},
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        # One short retry only: the caller is a web request, and the scheduler resends lost messages.
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0.1, "interval_step": 0, "interval_max": 0.1},
        worker_prefetch_multiplier=1,
        worker_pool="threads",
        worker_concurrency=2,
        worker_hijack_root_logger=False,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        timezone="UTC",
    )


configure()
