"""Delete pipelines. Higher layers may refuse a deletion or record data to clean up."""

from __future__ import annotations

from django.db import transaction

from flowapp.hook import Hook
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import lock_pipeline

before_deletion: Hook[[Pipeline], None] = Hook()
"""Called in the transaction that deletes the pipeline. Raises FlowError to prevent the deletion."""


def delete_pipeline(pipeline: Pipeline) -> None:
    """Delete a pipeline with its versions, drafts, runs and alerts, and with Flow's own data in target databases:
    backups, samples, watermarks. Loaded tables and rejected rows are not deleted. Raises FlowError."""
    with transaction.atomic():
        lock_pipeline(pipeline)
        before_deletion(pipeline)
        pipeline.delete()
