"""Files that users uploaded."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class Upload(models.Model):
    """A file that a person uploaded into the workspace's folder. A run may not have read it yet."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    path = models.CharField(max_length=1024)
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    # With path and size, it shows whether the file is still the uploaded one.
    mtime_ns = models.BigIntegerField(null=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(fields=["workspace", "-at"], name="upload_newest"),
            models.Index(fields=["workspace", "mtime_ns"], name="upload_by_mtime"),
        )

    def __str__(self) -> str:
        return self.path
