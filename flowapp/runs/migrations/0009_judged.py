from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0008_samples"),
    ]

    operations = [
        migrations.AddField(
            model_name="rulecount",
            name="judged",
            field=models.BigIntegerField(null=True),
        ),
    ]
