"""Stored modules."""

from __future__ import annotations

import uuid

from django.db import models


class CustomModule(models.Model):
    """One build of a module. Documents name it by name and hash, so a build never changes; an upload of other bytes
    under the same name is another build. `imports` and `may_use` are those of `ModuleFacts`, `granted` the kinds of
    access that an admin allows."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="modules")
    name = models.CharField(max_length=63)
    sha256 = models.CharField(max_length=64)
    kind = models.CharField(max_length=10)
    size = models.PositiveIntegerField()
    imports = models.JSONField(default=list)
    may_use = models.JSONField(default=list)
    granted = models.JSONField(default=list)
    content = models.BinaryField()
    added_by = models.CharField(max_length=300)
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "name", "sha256"], name="module_build"),)

    def __str__(self) -> str:
        return self.ref

    @property
    def ref(self) -> str:
        """Return how documents name the build."""
        return f"{self.name}@sha256:{self.sha256}"
