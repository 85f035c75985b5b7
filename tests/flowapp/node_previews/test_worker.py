"""The threads of a worker that make previews."""

from __future__ import annotations

import redis

from flowapp.embedded.processes import wait_until
from flowapp.node_previews.store import Owner, send, take
from flowapp.node_previews.worker import PreviewThread


def is_waiting(redis_url: str) -> bool:
    """Whether a client waits for the next preview."""
    with redis.Redis.from_url(redis_url) as client:
        return any(each["cmd"] == "blpop" for each in client.client_list())


def test_a_stopped_thread_leaves_the_next_preview_to_others(redis_url, engine):
    thread = PreviewThread(0)
    thread.start()
    assert wait_until(lambda: is_waiting(redis_url), 20)
    thread.stop()
    sent = send(Owner("w", "ann"), pipeline="p", node="n", sample="first", seed=0, document="{}")
    thread.join(20)
    assert not thread.is_alive()
    assert (take(seconds=1), engine) == (sent.id, [])
