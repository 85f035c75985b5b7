from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_replays")]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="purpose",
            field=models.CharField(
                choices=[
                    ("load", "Load"),
                    ("preview", "Preview"),
                    ("restore", "Restore"),
                    ("replay", "Replay"),
                    ("recheck", "Recheck"),
                    ("mend", "Mend"),
                    ("sample", "Sample"),
                ],
                default="load",
                max_length=16,
            ),
        ),
    ]
