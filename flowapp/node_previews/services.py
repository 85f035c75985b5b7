"""Request previews of nodes and read their answers."""

from __future__ import annotations

from uuid import UUID

from executors.api import SampleKind
from executors.errors import Cancelled
from flowapp.node_previews.drafted import drafted_path
from flowapp.node_previews.store import (
    ENDED,
    Answer,
    Owner,
    PreviewRequest,
    State,
    is_alive,
    is_cancelled,
    mark_cancelled,
    read_answer,
    read_request,
    report_outage,
    send,
)
from flowapp.pipelines.drafts import DraftView
from flowapp.processes.parts import process_health, spark_health
from ir.errors import FlowError


def request_preview(view: DraftView, owner: Owner, node: str, sample: SampleKind, seed: int = 0) -> PreviewRequest:
    """Queue a preview of a node of a draft. Raises FlowError."""
    path = drafted_path(view, node)
    return send(
        owner,
        pipeline=view.draft.pipeline.slug,
        node=node,
        sample=sample,
        seed=seed,
        document=path.document,
        without_target=path.without_target,
    )


def get_preview(owner: Owner, preview: UUID) -> tuple[PreviewRequest, Answer]:
    """Return the request and its current answer. Raises FlowError `preview.unknown`, also for other users' previews."""
    with report_outage():
        return _read_preview(owner, str(preview))


def cancel_preview(owner: Owner, preview: UUID) -> tuple[PreviewRequest, Answer]:
    """Cancel a preview unless it has ended; a worker stops within a second. Raises FlowError `preview.unknown`, also
    for other users' previews."""
    with report_outage():
        _, answer = _read_preview(owner, str(preview))
        if answer.state not in ENDED:
            mark_cancelled(str(preview))
        return _read_preview(owner, str(preview))


def _read_preview(owner: Owner, preview: str) -> tuple[PreviewRequest, Answer]:
    request, answer = read_request(preview), read_answer(preview)
    if request is None or answer is None or request.owner != owner:
        raise FlowError(
            "preview.unknown",
            "This preview does not exist or has expired.",
            hint="Previews are stored for 10 minutes. Request a new one.",
        )
    return request, _as_it_is_now(request, answer)


def _as_it_is_now(request: PreviewRequest, answer: Answer) -> Answer:
    if is_cancelled(request.id):
        return ended_by(cancelled())
    if answer.state in ENDED:
        return answer
    if answer.state == "queued":
        return _waiting()
    if not is_alive(request.id):
        answer = read_answer(request.id) or answer  # it may have ended just now
        if answer.state not in ENDED:
            return ended_by(FlowError("preview.lost", "The worker that made the preview stopped.", hint="Try again."))
    return answer


def _waiting() -> Answer:
    """Return the answer of a preview that no worker has taken yet, with the reason for waiting."""
    if process_health("worker")["status"] == "down":
        text = "No worker is running, so the preview waits."
        error = FlowError("preview.no_worker", text, hint="Start a worker. System Health shows its state.")
        return Answer("queued", error=error.to_json())
    return Answer("queued" if spark_health()["status"] == "ok" else "starting_spark")


def cancelled() -> Cancelled:
    return Cancelled("preview.cancelled", "The preview was cancelled.", hint="Refresh reads the rows again.")


def ended_by(error: FlowError) -> Answer:
    """Return the answer of a preview that ended with an error."""
    state: State = "cancelled" if error.code == "preview.cancelled" else "failed"
    return Answer(state, error=error.to_json())
