"""Make previews in a worker. Ends a preview that is cancelled, takes too long or was replaced by a newer one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

import redis
from django.conf import settings

from executors.api import NodePreviewJob, preview_node, spark_is_started, warm_up_spark
from executors.errors import Cancelled
from executors.model import Connection
from flowapp.accounts.models import Workspace
from flowapp.connections.services import refuse_control_databases, resolve_connections, resolve_stores
from flowapp.logs import log_crash
from flowapp.modules.services import resolve_modules
from flowapp.node_previews.services import cancelled, ended_by
from flowapp.node_previews.store import (
    Answer,
    PreviewRequest,
    is_cancelled,
    is_newest,
    read_request,
    show_life,
    write_answer,
)
from flowapp.pipelines.documents import read_document
from flowapp.runs.worker import leave_if_lost
from ir.errors import FlowError
from ir.pipeline import Pipeline

logger = logging.getLogger(__name__)
MOST_SECONDS = 60.0
LOOK_EVERY_SECONDS = 0.5


def execute(preview: str) -> None:
    """Make a preview and store its answer, also if it fails."""
    request = read_request(preview)
    if request is None:
        return
    with Watch(request) as watch:
        try:
            watch.check()
            _start_spark(request)
            watch.begin()
            write_answer(preview, Answer("running"))
            answer = Answer("succeeded", result=_as_json(preview_node(make_job(request), watch)))
        except FlowError as error:
            leave_if_lost(error)
            answer = ended_by(error)
        except redis.RedisError:
            raise
        except Exception as error:  # noqa: BLE001 - log_crash logs it without row values
            log_crash(logger, f"Preview {preview} crashed", error)
            text = f"Unexpected error: {type(error).__name__}."
            answer = ended_by(FlowError("run.crashed", text, hint="See the log of the worker."))
    write_answer(preview, answer)


def _start_spark(request: PreviewRequest) -> None:
    if not spark_is_started():
        write_answer(request.id, Answer("starting_spark"))
        warm_up_spark()


def make_job(request: PreviewRequest) -> NodePreviewJob:
    """Build the engine's input. Raises FlowError if a connection is unknown or its secret cannot be decrypted,
    and the errors of `resolve_modules`."""
    document, workspace = read_document(request.document), Workspace.objects.get(pk=UUID(request.owner.workspace))
    return NodePreviewJob(
        id=request.id,
        tenant=str(workspace.pk),
        pipeline=document,
        node=request.node,
        sample=request.sample,
        connections=_connections(workspace, document, request),
        stores=resolve_stores(workspace, document),
        files_folder=settings.FILES_ROOT / workspace.slug,
        taps=settings.TAPS,
        without_target=request.without_target,
        seed=request.seed,
        modules=resolve_modules(workspace, document),
    )


def _connections(workspace: Workspace, document: Pipeline, request: PreviewRequest) -> dict[str, Connection]:
    """Resolve the connections of the nodes. Stand-ins for targets have none: those of other branches follow the target
    of the path."""
    stand_ins = document.targets()[0 if request.without_target else 1 :]
    nodes = [node for node in document.nodes if node not in stand_ins]
    connections = resolve_connections(workspace, document.model_copy(update={"nodes": nodes}))
    refuse_control_databases(connections.values())
    return dict(connections)


def _as_json(shown: Any) -> dict[str, Any]:
    return asdict(shown)


class Watch:
    """Sends signs of life for a preview and says when it must end. It is the engine's `Cancellation`."""

    def __init__(self, request: PreviewRequest) -> None:
        self._request = request
        self._reason: Cancelled | None = None
        self._interrupt: Callable[[], None] = lambda: None
        self._until = float("inf")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"watch of preview {request.id}", daemon=True)

    def __enter__(self) -> Watch:
        show_life(self._request.id)
        self._reason = self._why()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def begin(self) -> None:
        """Start the time limit. Call it once Spark has started."""
        self._until = time.monotonic() + MOST_SECONDS

    def check(self) -> None:
        if self._reason:
            raise self._reason

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt

    def _watch(self) -> None:
        """Interrupt repeatedly: a Spark job that starts after an interrupt must end too."""
        while not self._done.wait(LOOK_EVERY_SECONDS):
            try:
                show_life(self._request.id)
                self._reason = self._reason or self._why()
            except redis.RedisError as error:
                logger.warning("The broker does not answer: %s", type(error).__name__)
            if self._reason:
                self._interrupt()

    def _why(self) -> Cancelled | None:
        if is_cancelled(self._request.id):
            return cancelled()
        if not is_newest(self._request):
            return Cancelled("preview.replaced", "A newer preview replaced it.", hint="Open the newest preview.")
        if time.monotonic() > self._until:
            return Cancelled(
                "preview.too_slow",
                f"The preview took longer than {MOST_SECONDS:g} s.",
                hint="Choose the first rows. A query or view that takes long to give its first rows can be the cause.",
            )
        return None
