from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("files", "0005_unit_rows")]

    operations = [
        migrations.AddField(model_name="upload", name="mtime_ns", field=models.BigIntegerField(null=True)),
        migrations.AddIndex(
            model_name="upload",
            index=models.Index(fields=["workspace", "mtime_ns"], name="upload_by_mtime"),
        ),
    ]
