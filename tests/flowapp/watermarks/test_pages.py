"""The page of a watermark, and the watermark in the editor."""

from __future__ import annotations

import pytest

from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.reading import HOSTILE, assert_harmless, words
from tests.flowapp.watermarks.conftest import incremental_nodes

pytestmark = pytest.mark.django_db
PAGE = "/w/alices-team/watermarks/numbers/load/"


def set_to(client, value="2026-01-01T10:00:00", reason="a repair"):
    return client.post(f"{PAGE}set/", {"value": value, "reason": reason}, follow=True)


def test_before_the_first_load_the_page_says_where_it_begins(as_, following):
    text = words(as_("viewer").get(PAGE))
    assert "no watermark" in text
    assert "begins at the highest value of upd" in text
    assert "No changes yet" in text


def test_an_editor_sets_and_resets_a_watermark_and_sees_the_history(as_, following):
    client = as_("editor")
    assert "The next load of load begins at 2026-01-01 10:00:00." in words(set_to(client))
    assert "Rows at the watermark 0" in words(client.get(PAGE))
    answer = client.post(f"{PAGE}reset/", {"reason": "start over"}, follow=True)
    text = words(answer)
    assert "The watermark of load is reset." in text
    assert "editor@example.com reset 2026-01-01 10:00:00 – start over" in text
    assert "editor@example.com set – 2026-01-01 10:00:00 a repair" in text


def test_a_value_of_another_type_is_reported(as_, following):
    answer = set_to(as_("editor"), value="soon")
    assert answer.status_code == 422
    assert "is not a value of column 'upd'" in words(answer)


def test_viewers_see_no_forms_and_may_not_post(as_, following):
    assert "Set the watermark" not in words(as_("viewer").get(PAGE))
    assert set_to(as_("viewer")).status_code == 403


def test_while_the_warehouse_is_down_the_copy_is_shown(as_, following, down):
    set_to(as_("editor"))
    down()
    text = words(as_("editor").get(PAGE))
    assert "does not answer" in text
    assert "2026-01-01 10:00:00" in text
    assert "Set watermark" not in text


def test_reasons_are_shown_as_text(as_, following):
    assert_harmless(set_to(as_("editor"), reason=HOSTILE))


def test_the_editor_shows_the_watermark_at_its_card(as_, following):
    client = as_("editor")
    set_to(client)
    text = words(client.get("/w/alices-team/pipelines/numbers/?node=load"))
    assert "The next load begins at 2026-01-01 10:00:00 minus 15m" in text
    assert "Watermark and history" in text


def test_the_page_of_a_run_leads_to_the_watermark(as_, following):
    run = queue_run(following, Trigger.MANUAL, send=False)
    page = as_("viewer").get(f"/w/alices-team/runs/{run.pk}/").content.decode()
    assert 'href="/w/alices-team/watermarks/numbers/load/"' in page


def test_the_editor_says_nothing_of_watermarks_elsewhere(as_, pipeline):
    assert "Watermark and history" not in words(as_("editor").get("/w/alices-team/pipelines/numbers/?node=load"))


def test_the_editor_offers_the_fields_of_the_mode(as_, save, schema):
    save(nodes=incremental_nodes(schema))
    text = words(as_("editor").get("/w/alices-team/pipelines/numbers/?node=load"))
    assert "Watermark column" in text
    assert "Watermark lag" in text


def test_what_loads_rows_twice_is_reported_before_a_watermark_is_set(as_, changing):
    answer = as_("editor").get(PAGE)
    assert "Rows may load a second time" in words(answer)
    assert answer.content.count(b"data-confirm=") == 2


def test_the_page_says_what_the_next_run_would_do_and_changes_nothing(as_, following):
    client = as_("editor")
    given = {"value": "2026-01-01T10:00:00", "reason": "a repair", "check": "1"}
    text = words(client.post(f"{PAGE}set/", given))
    assert "If you set it to 2026-01-01T10:00:00" in text
    assert "whose upd is 2026-01-01 09:45:00 or higher" in text
    assert "No changes yet" in text
    assert "If you reset it" in words(client.post(f"{PAGE}reset/", {"check": "1"}))


def test_a_page_that_is_older_than_the_watermark_changes_nothing(as_, following):
    client = as_("editor")
    set_to(client)
    answer = client.post(f"{PAGE}set/", {"value": "2026-01-01T09:00:00", "reason": "late", "revision": "0"})
    assert answer.status_code == 412
    assert "has changed since you read it. It is 2026-01-01 10:00:00 now." in words(answer)


def test_the_runs_of_a_pipeline_show_its_watermarks(as_, following):
    set_to(as_("editor"))
    text = words(as_("viewer").get("/w/alices-team/pipelines/numbers/?tab=runs"))
    assert "Watermarks" in text
    assert "2026-01-01 10:00:00" in text
