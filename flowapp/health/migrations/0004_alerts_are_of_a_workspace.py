import django.db.models.deletion
from django.db import migrations, models


def forget_those_of_nobody(apps, schema_editor):
    """What concerned the whole installation is raised anew, for each workspace that it concerns."""
    apps.get_model("health", "Alert").objects.filter(workspace=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_login_failures"),
        ("health", "0003_how_alerts_end"),
        ("channels", "0001_initial"),  # messages of those alerts go with them
    ]

    operations = [
        migrations.RunPython(forget_those_of_nobody, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="alert",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="alerts", to="accounts.workspace"
            ),
        ),
    ]
