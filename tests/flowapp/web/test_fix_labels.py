"""The labels of the buttons that apply fixes."""

from __future__ import annotations

import pytest

from flowapp.web.templatetags.forms import fix_label

COLUMNS = "/nodes/2/columns/-"


@pytest.mark.parametrize(
    ("fix", "label"),
    [
        ([{"op": "add", "path": "/nodes/2/upsertKey/-", "value": "line_no"}], "Add line_no"),
        ([{"op": "add", "path": COLUMNS, "value": {"name": name, "type": "date"}} for name in ("a", "b")], "Add a, b"),
        ([{"op": "add", "path": "/nodes/2/upsertKey", "value": ["id", "day"]}], "Set Key columns to id, day"),
        ([{"op": "replace", "path": "/nodes/2/loadMode", "value": "blue_green"}], "Use blue_green"),
    ],
)
def test_a_fix_is_called_by_what_it_does(fix, label):
    assert fix_label(fix) == label
