"""The last apply of each pipeline and connection, the servers of projects, and the plans that users proposed and
applied."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class AppliedPipeline(models.Model):
    """The state of a pipeline at the last apply: the hash of its document without `$schema`, and the version that it
    became. A pipeline belongs to the project that applied it last.

    It stores the pipeline's id, so that a deleted pipeline is known to have been applied. `removed_at` is set when a
    removal was applied."""

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    project = models.CharField(max_length=200)
    slug = models.CharField(max_length=63)
    document_hash = models.CharField(max_length=64)
    version_number = models.PositiveIntegerField()
    file = models.TextField()
    applied_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    applied_at = models.DateTimeField(auto_now=True)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "slug"], name="applied_pipeline_once"),)

    def __str__(self) -> str:
        return f"{self.slug} v{self.version_number}"


class AppliedConnection(models.Model):
    """The fields of a connection at the last apply, without secrets. `connection_changed_at` is the time of its last
    change before the apply: a later change with another secret was made in the browser.

    Several projects may declare the same connection.
    """

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    project = models.CharField(max_length=200)
    name = models.CharField(max_length=63)
    fields = models.JSONField()
    connection_changed_at = models.DateTimeField()
    applied_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    applied_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "project", "name"], name="applied_connection_once"),
        )

    def __str__(self) -> str:
        return self.name


class ServedProject(models.Model):
    """The `flow serve` that applies a project. Others take over once `until` has passed."""

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    project = models.CharField(max_length=200)
    owner = models.CharField(max_length=200)
    until = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "project"], name="served_project_once"),)

    def __str__(self) -> str:
        return f"{self.project}: {self.owner}"


class ProposalState(models.TextChoices):
    PROPOSED = "proposed"
    APPROVED = "approved"
    APPLYING = "applying"
    APPLIED = "applied"
    PARTIAL = "partial"
    DISCARDED = "discarded"
    REVERTED = "reverted"


class Proposal(models.Model):
    """A proposed or applied project, with the plan of that time.

    `files` are the texts by name. `fingerprint` identifies the approved plan. `steps` are the changes made: kind, id,
    action, and for existing pipelines the versions before and after. `partial` means that some changes were refused,
    have failed, or were not made because the process was killed. The next apply continues."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    project = models.TextField()
    origin = models.CharField(max_length=16)
    files = models.JSONField()
    plan = models.JSONField()
    fingerprint = models.CharField(max_length=64)
    state = models.CharField(max_length=16, choices=ProposalState.choices, default=ProposalState.PROPOSED)
    steps = models.JSONField(default=list)
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    proposed_at = models.DateTimeField(auto_now_add=True)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    approved_at = models.DateTimeField(null=True)
    applied_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    applied_at = models.DateTimeField(null=True)
    closed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    closed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["workspace", "-proposed_at", "id"], name="proposal_newest"),)

    def __str__(self) -> str:
        return f"{self.project} {self.state}"
