"""The filters of rejected rows: by rule, field and day, stored in the URL."""

from __future__ import annotations

import pytest
from django.utils import timezone

from flowapp.quarantine.selectors import EntryFilter, entry_query_of
from flowapp.runs.models import RuleCount, Run, Trigger
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.quarantine.keeping import keep
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
ROWS = "/w/alices-team/errors/rows/"
MADE_UP = "r-0123456789ab"


@pytest.fixture
def two_rules(orders, warehouse, schema) -> Run:
    """A run with a row of the rule `named` and one of a rule without an id."""
    table = f'{schema}."My Orders"'
    run = Run.objects.get(pk=keep(warehouse, orders, table, "named", field="name"))
    keep(warehouse, orders, table, MADE_UP, run, field="contact")
    for place, (rule, kind, field) in enumerate((("named", "notNull", "name"), (MADE_UP, "email", "contact"))):
        RuleCount.objects.create(
            workspace=run.workspace,
            run=run,
            position=place,
            node="check",
            rule=rule,
            type=kind,
            field=field,
            on_fail="skip",
            violations=1,
        )
    return run


def test_the_filters_offer_what_recent_runs_have_counted(as_, two_rules):
    page = as_("viewer").get(f"{ROWS}?pipeline=orders&rule={MADE_UP}").content.decode()
    assert f'<option value="{MADE_UP}" selected>email on contact</option>' in page
    assert '<option value="named" >named</option>' in page
    assert '<option value="name" >name</option>' in page
    assert 'type="date" name="day"' in page


def test_filters_are_in_the_address_and_an_empty_one_filters_nothing(as_, two_rules):
    client, day = as_("viewer"), f"{timezone.localdate():%Y-%m-%d}"
    answer = client.get(f"{ROWS}?filter=1&pipeline=orders&status=open&rule=&field=name&day={day}&search=&cursor=abc")
    assert answer["Location"] == f"{ROWS}?pipeline=orders&status=open&field=name&day={day}"
    found = words(client.get(answer["Location"]))
    assert "violates named " in found
    assert "violates email on contact " not in found


def test_runs_of_a_day_without_stored_rows_are_not_queried(alices, orders, two_rules, monkeypatch):
    other, day = queue_run(orders, Trigger.CLI, send=False), timezone.localdate()
    wanted = entry_query_of(alices, EntryFilter(pipeline=orders, day=day)).runs
    Run.objects.filter(pk=other.pk).update(quarantine_rows=0)

    assert set(wanted) == {str(two_rules.pk), str(other.pk)}
    assert entry_query_of(alices, EntryFilter(pipeline=orders, day=day)).runs == (str(two_rules.pk),)
    Run.objects.filter(pk=other.pk).update(quarantine_rows=2)
    monkeypatch.setattr("flowapp.quarantine.selectors.MOST_RUNS_OF_A_DAY", 1)
    with pytest.raises(FlowError, match=r"errors\.too_many_runs"):
        entry_query_of(alices, EntryFilter(pipeline=orders, day=day))


def test_a_rule_and_another_rules_field_are_not_looked_for(as_, two_rules, monkeypatch):
    monkeypatch.setattr("flowapp.quarantine.views.page_filtered", lambda *args, **more: pytest.fail("it was asked for"))
    answer = as_("viewer").get(f"{ROWS}?pipeline=orders&rule={MADE_UP}&field=name")
    assert "The rule email on contact checks contact" in words(answer)
    assert f'href="?pipeline=orders&amp;rule={MADE_UP}">Rows of this rule' in answer.content.decode()


def test_two_rules_of_one_name_are_distinguished(as_, two_rules):
    other = "r-ba9876543210"
    RuleCount.objects.create(
        workspace=two_rules.workspace,
        run=two_rules,
        position=2,
        node="check",
        rule=other,
        type="email",
        field="contact",
        on_fail="skip",
        violations=1,
    )
    page = words(as_("viewer").get(f"{ROWS}?run={two_rules.pk}"))
    assert f"email on contact ({MADE_UP})" in page
    assert f"email on contact ({other})" in page
