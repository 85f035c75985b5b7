"""JSON Patch on text has the same result as on values, and changes no other text."""

from __future__ import annotations

import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.json_edits import PatchRefused, UnreadableText, apply_patch, read_spans, write_json
from ir.pointers import Pointer

KEYS = st.sampled_from(["a", "b", "a/b", "m~n", "", "é", '"', "0"])
SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4) | st.sampled_from([0.5, 1.0, 1e30])
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)
SPACES = st.sampled_from(["", " ", "\n", "\n    ", "\r\n\t", "  "])


@st.composite
def written(draw: st.DrawFn) -> str:
    """A document with white space in all positions that JSON allows."""
    return draw(SPACES) + draw(spaced(draw(st.dictionaries(KEYS, VALUES, max_size=4)))) + draw(SPACES)


@st.composite
def spaced(draw: st.DrawFn, value: Any) -> str:
    def gap() -> str:
        return draw(SPACES)

    if isinstance(value, dict):
        members = [f"{gap()}{json.dumps(k)}{gap()}:{gap()}{draw(spaced(v))}{gap()}" for k, v in value.items()]
        return "{" + (",".join(members) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{draw(spaced(v))}{gap()}" for v in value) or gap()) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """A text and a patch with mostly existing paths."""
    text = draw(written())
    patch: list[dict[str, Any]] = []
    value = json.loads(text)
    for _ in range(draw(st.integers(1, 4))):
        step = draw(steps(value))
        patch.append(step)
        try:
            value = jsonpatch.apply_patch(value, [step])
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            break
    return text, patch


@st.composite
def steps(draw: st.DrawFn, value: Any) -> dict[str, Any]:
    places = list(map(str, read_spans(json.dumps(value)).parts))
    # jsonpatch fails for these operations on the root.
    inner = st.sampled_from([p for p in places if p] or ["/missing"])
    keys = st.sampled_from(["a", "new", "-", "0", "1"])
    new = st.builds(lambda at, key: f"{at}/{key}", st.sampled_from(places), keys)
    name = draw(st.sampled_from(["add", "remove", "replace", "move", "copy"]))
    step: dict[str, Any] = {"op": name, "path": draw(new | inner if name in ("add", "move", "copy") else inner)}
    if name in ("move", "copy"):
        step["from"] = draw(inner)
    if name in ("add", "replace"):
        step["value"] = draw(VALUES)
    return step


def expected(text: str, patch: list[dict[str, Any]]) -> Any:
    """Return the patched value; Ellipsis if the patch does not apply."""
    if any(step["op"] == "move" and _is_inside(step["path"], step["from"]) for step in patch):
        return ...
    try:
        return jsonpatch.apply_patch(json.loads(text), patch)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError):
        return ...


def _is_inside(place: str, other: str) -> bool:
    return place.startswith(f"{other}/")


@given(edits())
def test_the_text_after_a_patch_holds_the_value_after_the_patch(edit: tuple[str, list[dict[str, Any]]]) -> None:
    text, patch = edit
    wanted = expected(text, patch)
    if wanted is ...:
        with pytest.raises(PatchRefused):
            apply_patch(text, patch)
    else:
        after = apply_patch(text, patch)
        assert json.loads(after) == wanted
        assert read_spans(after).value == wanted


@given(written(), st.data())
def test_a_replaced_part_changes_no_byte_around_it(text: str, data: st.DataObject) -> None:
    spans = read_spans(text)
    place = data.draw(st.sampled_from(sorted(spans.parts, key=str)))
    after = apply_patch(text, [{"op": "replace", "path": str(place), "value": "new"}])
    start, end = spans.parts[place]
    assert after == text[:start] + '"new"' + text[end:]


@given(written(), st.data())
def test_other_members_keep_their_bytes_when_one_is_added_or_removed(text: str, data: st.DataObject) -> None:
    spans = read_spans(text)
    members = [p for p in spans.parts if len(p) == 1]
    added = apply_patch(text, [{"op": "add", "path": "/brand-new", "value": {"x": [1, 2]}}])
    assert _raw(added, members) == _raw(text, members)
    if members:
        gone = data.draw(st.sampled_from(members))
        rest = [p for p in members if p != gone]
        assert _raw(apply_patch(text, [{"op": "remove", "path": str(gone)}]), rest) == _raw(text, rest)


def _raw(text: str, places: list[Pointer]) -> list[str]:
    parts = read_spans(text).parts
    return [text[slice(*parts[place])] for place in places]


def test_what_is_added_is_written_as_its_neighbours_are() -> None:
    text = '{\n  "nodes": [\n    {"id": "a"}\n  ]\n}\n'
    after = apply_patch(text, [{"op": "add", "path": "/nodes/-", "value": {"id": "b"}}])
    assert after == '{\n  "nodes": [\n    {"id": "a"},\n    {"id": "b"}\n  ]\n}\n'


def test_a_long_value_gets_lines_below_its_place() -> None:
    after = apply_patch('{\n  "nodes": []\n}\n', [{"op": "add", "path": "/nodes/-", "value": {"id": "b" * 120}}])
    assert after == '{\n  "nodes": [\n    {\n      "id": "' + "b" * 120 + '"\n    }\n  ]\n}\n'


def test_on_one_line_all_stays_on_one_line() -> None:
    after = apply_patch('{"a":1}', [{"op": "add", "path": "/b", "value": ["x" * 200]}])
    assert "\n" not in after


def test_numbers_elsewhere_keep_their_digits() -> None:
    after = apply_patch('{"a": 1.50, "b": 12345678901234567890, "c": 1}', [{"op": "remove", "path": "/c"}])
    assert after == '{"a": 1.50, "b": 12345678901234567890}'


def test_an_index_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(PatchRefused):
        apply_patch('{"a": [1]}', [{"op": "replace", "path": f"/a/{'9' * 5000}", "value": 2}])


def test_a_test_that_fails_refuses_the_whole_patch() -> None:
    patch = [{"op": "replace", "path": "/a", "value": 2}, {"op": "test", "path": "/a", "value": 1}]
    with pytest.raises(PatchRefused, match="/a changed in the meantime"):
        apply_patch('{"a": 1}', patch)


@pytest.mark.parametrize(
    ("text", "wanted", "is_same"),
    [
        ('{"a": true}', 1, False),
        ('{"a": [{"b": 0}]}', [{"b": False}], False),
        ('{"a": true}', True, True),
        ('{"a": 5.0}', 5, True),
    ],
)
def test_a_test_tells_true_from_1_and_takes_numbers_by_their_value(text, wanted, is_same):
    step = [{"op": "test", "path": "/a", "value": wanted}]
    if is_same:
        assert apply_patch(text, step) == text
        return
    with pytest.raises(PatchRefused):
        apply_patch(text, step)


@pytest.mark.parametrize(
    "patch",
    [
        {},
        [1],
        [{"op": "swap", "path": ""}],
        [{"op": "add", "path": "/a"}],
        [{"op": "remove"}],
        [{"op": ["add"]}],
        [{"op": "remove", "path": ""}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "add", "path": 3, "value": 1}],
        [{"op": "add", "path": "/list/01", "value": 1}],
        [{"op": "add", "path": "/list/9", "value": 1}],
        [{"op": "replace", "path": "/~2", "value": 1}],
        [{"op": "move", "from": "/list", "path": "/list/0"}],
    ],
)
def test_what_is_no_fitting_patch_is_refused(patch: Any) -> None:
    with pytest.raises(PatchRefused):
        apply_patch('{"list": [1]}', patch)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', "[1] x"])
def test_text_that_is_no_json_has_no_places(text: str) -> None:
    with pytest.raises(UnreadableText):
        apply_patch(text, [{"op": "add", "path": "/x", "value": 1}])


def test_half_a_character_is_written_as_an_escape() -> None:
    assert write_json({"a": "\ud800"}) == '{"a": "\\ud800"}'
