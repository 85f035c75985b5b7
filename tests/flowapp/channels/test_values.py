"""Messages that leave the installation contain counts and locations, never values of rows."""

from __future__ import annotations

import pytest

from flowapp.alerts.models import Alert
from flowapp.channels.courier import deliver_to
from flowapp.runs.dispatch import run_inline
from tests.flowapp.conftest import make_document

pytestmark = pytest.mark.django_db(transaction=True)
VALUE = "S3CRETVALUE"


@pytest.mark.parametrize(
    ("rule", "target"),
    [
        ({"type": "maxLength", "field": "name", "max": 3, "onFail": "abort"}, {}),
        (None, {"columns": [{"name": "id", "type": "integer"}, {"name": "name", "type": "integer"}]}),
        (
            None,
            {
                "loadMode": "upsert",
                "upsertKey": ["name"],
                "columns": [{"name": "id", "type": "integer"}, {"name": "name", "type": "uuid"}],
            },
        ),
    ],
)
def test_no_alert_and_no_message_holds_the_value_that_stopped_a_load(
    save, schema, pager, receiver, settings, tmp_path, rule, target
):
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text(f"id,name\n1,{VALUE}\n")
    source, load = make_document(schema=schema)["nodes"]
    check = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": [rule] if rule else []}
    channel = pager()
    run = run_inline(save(nodes=[source, check, {**load, **target, "inputs": ["check"]}]).pipeline)
    assert run.state == "failed"
    alert = Alert.objects.get()
    assert VALUE not in alert.message + alert.next_step
    assert deliver_to(channel.pk) == 1
    [request] = receiver.requests
    assert request.json["alert"]["kind"] == "run.failed"
    assert VALUE not in request.body.decode()
