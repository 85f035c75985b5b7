from itertools import product

from django.db import migrations, models

from flowapp.pipelines.documents import read_document, syntax_of
from flowapp.pipelines.summaries import quarantines_of
from ir import InvalidPipeline
from ir.documents import read_document as read_syntax


def note_quarantines(apps, schema_editor):
    """Fill the new column of versions that were saved before there was one."""
    version = apps.get_model("pipelines", "PipelineVersion")
    for key, text in version.objects.values_list("pk", "document").iterator():
        if found := quarantines_in(text):
            version.objects.filter(pk=key).update(quarantines=found)


def quarantines_in(text):
    """Of a document that this release takes for none, every table behind every connection: one that does not exist
    holds nothing."""
    try:
        return quarantines_of(read_document(text))
    except InvalidPipeline:
        pass
    value = read_syntax(text, syntax_of(text)).value
    nodes = value.get("nodes") if isinstance(value, dict) else None
    nodes = [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []
    kept = [node["quarantine"] for node in nodes if isinstance(node.get("quarantine"), dict)]
    tables = [one["table"] for one in kept if isinstance(one.get("table"), str)]
    connections = [n["connection"] for n in nodes if n.get("kind") == "target" and isinstance(n.get("connection"), str)]
    return [list(place) for place in dict.fromkeys(product(connections, tables))]


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0003_remains")]

    operations = [
        migrations.AddField(
            model_name="pipelineversion",
            name="quarantines",
            field=models.JSONField(default=list),
        ),
        migrations.RunPython(note_quarantines, migrations.RunPython.noop),
    ]
