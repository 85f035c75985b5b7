"""Delete pipelines. Higher layers may refuse a deletion or record data to clean up."""

from __future__ import annotations

from django.db import transaction

from flowapp.hook import Hook
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import lock_pipeline

before_deletion: Hook[[Pipeline], None] = Hook()
"""Called in the transaction that deletes the pipeline. Raises FlowError while it must stay."""


def delete_pipeline(pipeline: Pipeline) -> None:
    """Delete a pipeline with its versions, drafts, runs and alerts, and with what Flow keeps of it beside its targets:
    backups, samples, watermarks. Tables that it loaded and rejected rows stay. Raises FlowError.
    """
    with transaction.atomic():
        lock_pipeline(pipeline)
        before_deletion(pipeline)
        pipeline.delete()
