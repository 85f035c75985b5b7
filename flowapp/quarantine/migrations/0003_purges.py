from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("quarantine", "0002_retention")]

    operations = [
        migrations.AddIndex(
            model_name="rowdecision",
            index=models.Index(
                condition=models.Q(("action", "purge")), fields=["at", "id"], name="row_decision_purges"
            ),
        ),
    ]
