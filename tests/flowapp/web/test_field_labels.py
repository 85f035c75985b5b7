"""Labels of forms in messages that are written for documents."""

from __future__ import annotations

import pytest

from flowapp.web.document_form import field_labels
from flowapp.web.field_labels import FieldLabel, with_labels
from ir.diagnostics import diagnose
from ir.pointers import Pointer
from tests.flowapp.conftest import make_document

LABELS = {
    "upsertKey": FieldLabel("Key columns"),
    "onFail": FieldLabel("On fail", {"skip": "reject row", "abort": "fail the run"}),
    "url": FieldLabel("URL"),
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Set upsertKey to the columns of the key.", 'Set "Key columns" to the columns of the key.'),
        ("The field url is empty.", 'The field "URL" is empty.'),
        (
            "Set onFail to skip or abort, or remove it.",
            'Set "On fail" to "reject row" or "fail the run", or remove it.',
        ),
        ("With onFail skip, rows are lost.", 'With "On fail" "reject row", rows are lost.'),
    ],
)
def test_names_of_fields_and_their_values_become_labels(text, shown):
    assert with_labels(text, LABELS) == shown


@pytest.mark.parametrize(
    "text",
    [
        "The column 'upsertKey' is unknown.",
        'The column "upsertKey" is unknown.',
        "A url is an address.",
        "upsertKey(id) is not a function, and a.upsertKey no table.",
        "See /docs/upsertKey and upsertKey.id.",
        "The field other is empty.",
    ],
)
def test_values_of_the_user_and_words_stay(text):
    assert with_labels(text, LABELS) == text


def test_the_label_is_that_of_the_field_at_the_position():
    """Two fields are called maxDecreasePct; their labels differ."""
    found = [
        diagnose("hold.limit_required", Pointer(("nodes", 1, name)), "Set maxDecreasePct.", hint="Set orderBy.")
        for name in ("hold", "expectedRowCountDelta")
    ]
    document = make_document()
    document["nodes"][1] |= {"hold": {}, "expectedRowCountDelta": {}}
    hold, expected = field_labels().in_diagnostics(found, document)
    assert hold.message.startswith('Set "Require approval if')
    assert expected.message != hold.message
    assert hold.hint == expected.hint == 'Set "Order by".'
    assert found[0].message == "Set maxDecreasePct."


def test_a_position_that_is_not_in_the_schema_is_no_problem():
    wrong = diagnose("field.unknown", Pointer(("nodes", 7, "x", "y")), "Set orderBy.")
    assert field_labels().in_diagnostics([wrong], {"nodes": "none"})[0].message == 'Set "Order by".'
