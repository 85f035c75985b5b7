from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("connections", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="connection",
            name="settings",
            field=models.JSONField(default=dict),
        ),
    ]
