from __future__ import annotations

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_members_and_tokens"),
        ("files", "0002_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("path", models.CharField(max_length=1024)),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.BigIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.workspace"
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["workspace", "-at"], name="upload_newest")]},
        ),
        migrations.AddIndex(
            model_name="loadunit",
            index=models.Index(fields=["workspace", "sha256"], name="unit_by_bytes"),
        ),
    ]
