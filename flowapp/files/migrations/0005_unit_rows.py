from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("files", "0004_unit_mtime")]

    operations = [
        migrations.AddField(model_name="loadunit", name="rows", field=models.BigIntegerField(null=True)),
    ]
