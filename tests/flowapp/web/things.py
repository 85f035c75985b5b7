"""One thing of each kind, for addresses that name one."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import uuid4

from django.utils import timezone

from flowapp.accounts.models import Membership, User, Workspace
from flowapp.accounts.services import add_token
from flowapp.alerts.models import Alert
from flowapp.backups.models import Backup
from flowapp.channels.models import Channel, Delivery
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.lists.services import save_filter
from flowapp.manifests.models import Proposal
from flowapp.modules.models import CustomModule
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.quarantine.models import Selection
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run
from flowapp.schema_changes.models import ColumnChange
from flowapp.triggers.models import EventTrigger
from flowapp.uploads.models import Upload
from flowapp.watermarks.models import WatermarkCopy
from tests.flowapp.conftest import make_document


def make_things(workspace: Workspace, person: Callable[[str], User], warehouse: ConnectionFields) -> dict[str, object]:
    """Things of the workspace, by the names that addresses have for them."""
    now = timezone.now()
    pipeline = Pipeline.objects.create(workspace=workspace, slug="numbers", latest_number=1, run_counter=1)
    text = json.dumps(make_document())
    version = PipelineVersion.objects.create(workspace=workspace, pipeline=pipeline, number=1, document=text)
    run = Run.objects.create(
        workspace=workspace, pipeline=pipeline, version=version, number=1, trigger="manual", queued_at=now, due_at=now
    )
    unit = LoadUnit.objects.create(
        workspace=workspace, pipeline=pipeline, node="files", name="a.csv", size=1, changed_at=now
    )
    upload = Upload.objects.create(workspace=workspace, path="a.csv", size=1)
    alert = Alert.objects.create(
        workspace=workspace,
        kind="run.failed",
        severity="error",
        fingerprint="f",
        message="m",
        next_step="n",
        first_seen_at=now,
        last_seen_at=now,
    )
    WatermarkCopy.objects.create(
        workspace=workspace,
        pipeline=pipeline,
        node="load",
        schema="public",
        table="numbers",
        value="secretword",
        seen_at=now,
    )
    backup = Backup.objects.create(
        workspace=workspace,
        pipeline=pipeline,
        run=run,
        node="load",
        connection="warehouse",
        schema="public",
        table="numbers",
        rows=3,
        taken_at=now,
    )
    add_connection(workspace, "warehouse", warehouse)
    shown = {"host": "hooks.example.com", "headers": []}
    channel = Channel.objects.create(
        workspace=workspace, name="pager", kind="webhook", secret="secretword", settings=shown
    )
    failed = Delivery.objects.create(
        channel=channel, alert=alert, event="opened", state="failed", made_at=now, due_at=now
    )
    files = {"flow.toml": '[project]\nname = "shop"\n', "pipelines/numbers.json": text}
    proposal = Proposal.objects.create(
        workspace=workspace, project="shop", origin="upload", files=files, plan={}, fingerprint="f"
    )
    change = ColumnChange.objects.create(
        workspace=workspace,
        pipeline=pipeline,
        node="load",
        sources="files",
        connection="warehouse",
        schema="public",
        table="numbers",
        change_id="f" * 32,
        kind="widen",
        column="id",
        sentence="Column 'id' is integer in the table and bigint at the source.",
        statement='ALTER TABLE "public"."numbers" ALTER COLUMN "id" TYPE bigint',
        rewrites=True,
        table_bytes=8192,
        state="pending",
        run=run,
        first_seen_at=now,
        seen_at=now,
    )
    selection = Selection.objects.create(workspace=workspace, pipeline=pipeline, made_at=now, rows=1)
    trigger = EventTrigger.objects.create(workspace=workspace, pipeline=pipeline, name="export", secret="secretword")
    module = CustomModule.objects.create(
        workspace=workspace, name="warehouse", sha256="f" * 64, kind="module", size=8, content=b"secretword"
    )
    _, token = add_token(workspace, "reader", "viewer", days=1)
    member = Membership.objects.get(user=person("admin"))
    saved = save_filter(workspace, person("admin"), "runs", "Failed", "state=failed")
    return {
        "slug": pipeline.slug,
        "run": run.pk,
        "unit": unit.pk,
        "upload": upload.pk,
        "alert": alert.pk,
        "name": "warehouse",
        "token": token.pk,
        "member": member.pk,
        "saved_filter": saved.pk,
        "preview": uuid4(),
        "row_id": str(uuid4()),
        "row_key": "run:row",
        "backup": backup.pk,
        "change": change.pk,
        "hook": "load.postHook.0",
        "node": "load",
        "channel": "pager",
        "channel_kind": "email",
        "store_kind": "s3",
        "key": failed.key,
        "selection": selection.pk,
        "proposal": proposal.pk,
        "trigger": trigger.pk,
        "sha256": module.sha256,
    }
