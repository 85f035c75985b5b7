"""Saved filters of lists."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class SavedFilter(models.Model):
    """A filter of one list, saved by one user in one workspace. `query` is the query string of the list's URL."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    page = models.CharField(max_length=20)
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "user", "page", "name"], name="filter_name"),)

    def __str__(self) -> str:
        return f"{self.page}: {self.name}"
