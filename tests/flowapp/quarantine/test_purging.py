"""Rows past their time go by each connection that answers; the others are told."""

from __future__ import annotations

import json

import pytest

from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.quarantine.purging import purge_old_rows, set_retention
from flowapp.quarantine.selectors import list_entries
from flowapp.runs.holds import Decider
from tests.flowapp.quarantine.keeping import DEMO, keep

pytestmark = pytest.mark.django_db


def test_a_database_that_does_not_answer_keeps_no_rows_of_others(alices, orders, warehouse, schema, caplog):
    keep(warehouse, orders, f'{schema}."My Orders"', "old", tenant=str(alices.pk), createdAt="2020-01-01")
    set_retention(alices, 30, Decider("ann"))
    add_connection(alices, "dead", ConnectionFields("postgres", "127.0.0.1", 1, "d", "u", "p"))
    document = json.dumps(DEMO | {"id": "nowhere"}).replace('"connection": "warehouse"', '"connection": "dead"')
    save_version(alices, document)

    assert purge_old_rows() == 1
    assert list_entries(alices, pipeline=orders) == []
    [told] = [record for record in caplog.records if record.name == "flowapp.quarantine.purging"]
    assert "connection dead: target.unreachable" in told.getMessage()
