"""A pipeline whose source has a new column, and the runs that find it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from executors.api import SchemaChange, SchemaRefused
from tests.flowapp.watermarks.conftest import sql
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.schema_changes.models import ColumnChange

__all__ = ["as_", "person", "sql"]

ADD = SchemaChange("add", "extra", "", "text", 'ALTER TABLE "public"."numbers" ADD COLUMN "extra" text')
WIDEN = SchemaChange(
    "widen", "id", "integer", "bigint", 'ALTER TABLE … "id" TYPE bigint', rewrites=True, table_bytes=8192
)
KEY = SchemaChange("key", "id", "(id)", "(id, name)", why_not="A key is never changed.")


def refusal(*changes: SchemaChange) -> SchemaRefused:
    open_ids = {change.id for change in changes if change.kind != "key"}
    return SchemaRefused("schema.change_pending", "Columns changed.", changes, open_ids, node="load", hint="Decide.")


@pytest.fixture
def find(pipeline: Pipeline) -> Callable[..., list[ColumnChange]]:
    """Let a run of the pipeline find changes; return the recorded ones, oldest first."""
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run
    from flowapp.schema_changes.models import ColumnChange
    from flowapp.schema_changes.services import note_refused

    def found(*changes: SchemaChange) -> list[ColumnChange]:
        run = queue_run(pipeline, Trigger.MANUAL, send=False)
        note_refused(run, refusal(*changes))
        return list(ColumnChange.objects.order_by("first_seen_at", "kind"))

    return found


def states() -> dict[str, str]:
    from flowapp.schema_changes.models import ColumnChange

    return dict(ColumnChange.objects.values_list("kind", "state"))


def alerts() -> list[Any]:
    from flowapp.alerts.models import Alert

    return list(Alert.objects.filter(kind="schema.pending").values_list("state", flat=True))
