from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_restores")]

    operations = [
        migrations.AddField(model_name="noderun", name="rows_rejected_here", field=models.BigIntegerField(null=True)),
    ]
