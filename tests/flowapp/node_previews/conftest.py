"""A pipeline with a validate node, and previews that a worker of the test's own process makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from executors.node_preview.model import ColumnPreview, NodePreview, NodePreviewJob, RowPreview, RulePreview, Violation
from ir.nodes import Validate
from ir.rules import rule_id
from tests.flowapp.conftest import make_document
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline

__all__ = ["as_", "person"]
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture
def checked(save: Callable[..., Any], schema: str) -> Pipeline:
    """files → check (id must not be empty) → load."""
    source, load = make_document(schema=schema)["nodes"]
    rules = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    check = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": rules}
    pipeline: Pipeline = save(nodes=[source, check, {**load, "inputs": ["check"]}]).pipeline
    return pipeline


def shown(job: NodePreviewJob, rows: int = 2, name: str = "Ann") -> NodePreview:
    """A possible answer of the engine."""
    columns = (ColumnPreview("id", "integer", rows, 1, rows - 1), ColumnPreview("name", "string", rows, 0, 1))
    broken = Violation("notNull", "id", "is empty", "skip")
    return NodePreview(
        node=job.node,
        kind=job.pipeline.node(job.node).kind,
        sample=job.sample,
        extent="All rows of in/a.csv.",
        rows_read=rows,
        rows_in=rows,
        rows_out=rows - 1,
        rows_filtered=0,
        rows_rejected=1,
        before=columns,
        after=columns,
        rules=tuple(
            RulePreview(rule_id(rule), rule.type, rule.field, rule.on_fail, 1, rows)
            for validate in job.pipeline.nodes
            if isinstance(validate, Validate)
            for rule in validate.row_level
        ),
        rows=(
            *(RowPreview("in/a.csv", n, "passed", (n, name), (n, name)) for n in range(1, rows)),
            RowPreview("in/a.csv", rows, "rejected", (None, name), None, (broken,)),
        ),
        notes=("Duplicates are searched among these rows only.",),
    )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[NodePreviewJob]:
    """Replaces Spark; returns the jobs that it received."""
    from flowapp.node_previews import executing

    jobs: list[NodePreviewJob] = []

    def preview(job: NodePreviewJob, cancellation: Any) -> NodePreview:
        jobs.append(job)
        return shown(job)

    monkeypatch.setattr(executing, "preview_node", preview)
    monkeypatch.setattr(executing, "spark_is_started", lambda: True)
    return jobs


@pytest.fixture
def work(redis_url: str, engine: list[NodePreviewJob]) -> Callable[[], None]:
    """Makes all previews that are waiting, as a worker does."""
    from flowapp.node_previews.executing import execute
    from flowapp.node_previews.store import take

    def call() -> None:
        while preview := take(seconds=1):
            execute(preview)

    return call


@pytest.fixture
def api(as_: Callable[[str], Any], redis_url: str) -> Callable[..., Any]:
    """Return a function that sends requests with a role."""

    def ask(role: str, method: str, path: str, data: Any = None) -> Any:
        more = {} if method == "get" else {"content_type": "application/json"}
        return getattr(as_(role), method)(f"/api/{path}", data or {}, headers=HERE, **more)

    return ask
