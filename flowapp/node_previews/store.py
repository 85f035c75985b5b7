"""Requests and answers of previews in Redis, encrypted, for some minutes. The control database never stores rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal
from uuid import uuid4

import redis
from django.conf import settings

from executors.api import SampleKind
from flowapp.connections.secrets import decrypt, encrypt
from ir.errors import FlowError

TTL_SECONDS = 600
SIGN_OF_LIFE_SECONDS = 15
MOST_WAITING = 1_000
MOST_BYTES = 1_000_000
"""The maximum size of one answer in bytes."""
_QUEUE = "flow:node-previews"

State = Literal["queued", "starting_spark", "running", "succeeded", "failed", "cancelled"]
ENDED: tuple[State, ...] = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Owner:
    """The user or API token, in one workspace, that may read an answer."""

    workspace: str
    who: str


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The input of one preview. `document` is the text of one path of the pipeline."""

    id: str
    owner: Owner
    pipeline: str
    node: str
    sample: SampleKind
    seed: int
    document: str
    without_target: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The state of a preview. `error` is a FlowError and `result` a `NodePreview`, both as JSON."""

    state: State
    error: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


@lru_cache(maxsize=1)
def _client_of(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_connect_timeout=3, socket_timeout=10, decode_responses=True)


def _client() -> redis.Redis:
    if not settings.REDIS_URL:
        raise FlowError("preview.no_broker", "No broker is configured.", hint="Set FLOW_REDIS_URL.")
    return _client_of(settings.REDIS_URL)


@contextmanager
def report_outage() -> Iterator[None]:
    """Raise FlowError `preview.no_broker` if the broker does not answer in the block."""
    try:
        yield
    except redis.RedisError as error:
        raise FlowError(
            "preview.no_broker", "The broker does not answer.", hint="System Health shows its state. Try again."
        ) from error


def send(owner: Owner, **what: Any) -> PreviewRequest:
    """Queue a preview for the workers; it replaces the last one of this owner and pipeline. Raises FlowError."""
    request = PreviewRequest(str(uuid4()), owner, **what)
    queued = encrypt(_bounded(Answer("queued")))
    with report_outage(), _client().pipeline() as pipe:
        pipe.set(_key(request.id, "request"), _encrypted(asdict(request)), ex=TTL_SECONDS)
        pipe.set(_key(request.id, "answer"), queued, ex=TTL_SECONDS)
        pipe.set(_newest_key(request), request.id, ex=TTL_SECONDS)
        pipe.rpush(_QUEUE, request.id)
        pipe.ltrim(_QUEUE, -MOST_WAITING, -1)
        pipe.execute()
    return request


def take(seconds: int) -> str | None:
    """Return the id of the next preview; None if there is none within the given seconds. Raises RedisError."""
    taken = _client().blpop([_QUEUE], seconds)
    return str(taken[1]) if taken else None


def give_back(preview: str) -> None:
    """Put a taken preview back at the front of the queue. Raises RedisError."""
    _client().lpush(_QUEUE, preview)


def read_request(preview: str) -> PreviewRequest | None:
    values = _read(_key(preview, "request"))
    return PreviewRequest(**{**values, "owner": Owner(**values["owner"])}) if values else None


def is_newest(request: PreviewRequest) -> bool:
    """Return whether the owner has requested no newer preview of the pipeline."""
    return bool(_client().get(_newest_key(request)) == request.id)


def mark_cancelled(preview: str) -> None:
    """Mark a preview as cancelled: a worker ends it, or does not begin it."""
    _client().set(_key(preview, "cancelled"), "1", ex=TTL_SECONDS)


def is_cancelled(preview: str) -> bool:
    return bool(_client().exists(_key(preview, "cancelled")))


def write_answer(preview: str, answer: Answer) -> None:
    """Store the state of a preview. Rows are dropped from an answer that is too large."""
    _client().set(_key(preview, "answer"), encrypt(_bounded(answer)), ex=TTL_SECONDS)


def read_answer(preview: str) -> Answer | None:
    values = _read(_key(preview, "answer"))
    return Answer(**values) if values else None


def show_life(preview: str) -> None:
    """Record that a worker is making the preview."""
    _client().set(_key(preview, "alive"), "1", ex=SIGN_OF_LIFE_SECONDS)


def is_alive(preview: str) -> bool:
    return bool(_client().exists(_key(preview, "alive")))


def _bounded(answer: Answer) -> str:
    values = asdict(answer)
    while len(text := json.dumps(values, ensure_ascii=False)) > MOST_BYTES and (values["result"] or {}).get("rows"):
        rows = values["result"]["rows"]
        values["result"]["rows"] = rows[: len(rows) // 2]
    return text


def _key(preview: str, what: str) -> str:
    return f"flow:node-preview:{preview}:{what}"


def _newest_key(request: PreviewRequest) -> str:
    return f"flow:node-preview:newest:{request.owner.workspace}:{request.owner.who}:{request.pipeline}"


def _encrypted(values: Any) -> str:
    return encrypt(json.dumps(values, ensure_ascii=False))


def _read(key: str) -> Any:
    held = _client().get(key)
    return json.loads(decrypt(str(held), "a preview")) if held else None
