"""The reduction of a window to the last state of each row, compared with a plain dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from executors.change_log.effects import Effects, IncompleteRow, Key, NetEffect, pack_key, unpack_key
from executors.change_log.lines import cell, split_line
from executors.change_log.net_effect import Changes


class Seen(Effects):
    def __init__(self) -> None:
        self.lines: dict[int, list[bytes]] = {}
        self.deleted: set[Key] = set()
        self.incomplete: list[IncompleteRow] = []

    def rows(self, lines: Iterator[tuple[int, bytes]]) -> None:
        self.lines = {change: split_line(line) for change, line in lines}

    def delete(self, key: Key) -> None:
        self.deleted.add(key)

    def add_incomplete(self, row: IncompleteRow) -> None:
        self.incomplete.append(row)


def line(*values: bytes | None) -> bytes:
    return b",".join(map(cell, values)) + b"\n"


def reduced(folder: Path, *steps: tuple[Any, ...]) -> tuple[NetEffect, Seen]:
    seen = Seen()
    with Changes(folder) as changes:
        for name, *arguments in steps:
            getattr(changes, name)(*arguments)
        return changes.reduce(seen), seen


def test_only_the_last_change_of_a_key_counts(tmp_path: Path) -> None:
    effect, seen = reduced(
        tmp_path,
        ("set_row", (b"1",), line(b"1", b"a")),
        ("set_row", (b"2",), line(b"2", b"a")),
        ("set_row", (b"1",), line(b"1", None)),
        ("drop_row", (b"2",)),
        ("drop_row", (b"3",)),
    )
    assert effect == NetEffect(rows=1, deleted=2, replaced=2)
    assert effect.changes == 5
    assert seen.lines == {3: [b'"1"', b""]}
    assert seen.deleted == {(b"2",), (b"3",)}


def test_a_large_value_that_did_not_change_is_the_one_of_an_earlier_change(tmp_path: Path) -> None:
    effect, seen = reduced(
        tmp_path,
        ("set_row", (b"1",), line(b"1", b'b,"ig', b"a")),
        ("set_row", (b"1",), line(b"1", None, b"b"), [1]),
        ("set_row", (b"1",), line(b"1", None, b"c"), [1]),
    )
    assert (effect.incomplete, seen.incomplete) == (0, [])
    assert seen.lines == {3: [b'"1"', b'"b,""ig"', b'"c"']}


def test_a_large_value_that_the_window_never_has_is_the_one_of_the_table(tmp_path: Path) -> None:
    _, seen = reduced(
        tmp_path,
        ("set_row", (b"1",), line(b"1", None, None), [1, 2]),
        ("set_row", (b"1",), line(b"1", b"new", None), [2]),
        ("set_row", (b"1",), line(b"1", None, None), [1, 2]),
    )
    assert seen.lines == {3: [b'"1"', b'"new"', b""]}
    assert seen.incomplete == [IncompleteRow(3, (b"1",), (2,))]


def test_a_row_takes_its_large_value_along_when_its_key_changes(tmp_path: Path) -> None:
    effect, seen = reduced(
        tmp_path,
        ("set_row", (b"2",), line(b"2", b"big"), []),
        ("set_row", (b"3",), line(b"3", None), [1], (b"2",)),
        ("set_row", (b"9",), line(b"9", None), [1], (b"8",)),
        ("set_row", (b"8",), line(b"8", b"other"), []),
    )
    assert effect == NetEffect(rows=3, deleted=1, replaced=2, incomplete=1)
    assert seen.deleted == {(b"2",)}
    assert seen.lines == {3: [b'"3"', b'"big"'], 5: [b'"9"', b""], 6: [b'"8"', b'"other"']}
    assert seen.incomplete == [IncompleteRow(5, (b"8",), (1,))]


def test_keys_that_are_swapped_take_the_values_of_the_table_crosswise(tmp_path: Path) -> None:
    _, seen = reduced(
        tmp_path,
        ("set_row", (b"0",), line(b"0", None), [1], (b"1",)),
        ("set_row", (b"1",), line(b"1", None), [1], (b"2",)),
        ("set_row", (b"2",), line(b"2", None), [1], (b"0",)),
    )
    assert {(row.change, row.key) for row in seen.incomplete} == {(4, (b"2",)), (6, (b"1",))}
    assert seen.deleted == {(b"0",)}


def test_a_truncation_removes_what_came_before_it(tmp_path: Path) -> None:
    effect, seen = reduced(
        tmp_path,
        ("set_row", (b"1",), line(b"1")),
        ("drop_row", (b"2",)),
        ("truncate",),
        ("set_row", (b"3",), line(b"3")),
    )
    assert effect == NetEffect(rows=1, replaced=2, truncates=True)
    assert seen.deleted == set()


def test_an_undone_transaction_leaves_nothing(tmp_path: Path) -> None:
    effect, seen = reduced(
        tmp_path,
        ("set_row", (b"1",), line(b"1")),
        ("begin",),
        ("set_row", (b"2",), line(b"2")),
        ("truncate",),
        ("undo",),
        ("set_row", (b"3",), line(b"3")),
    )
    assert effect == NetEffect(rows=2)
    assert seen.lines == {1: [b'"1"'], 2: [b'"3"']}


def test_a_savepoint_is_undone_within_its_transaction(tmp_path: Path) -> None:
    seen = Seen()
    with Changes(tmp_path) as changes:
        changes.begin()
        changes.set_row((b"1",), line(b"1"))
        savepoint = changes.mark()
        changes.set_row((b"2",), line(b"2"))
        changes.truncate()
        changes.undo_to(savepoint)
        changes.set_row((b"3",), line(b"3"))
        assert changes.reduce(seen) == NetEffect(rows=2)
    assert seen.lines == {1: [b'"1"'], 2: [b'"3"']}


KEYS = st.sampled_from([b"1", b"2", b"3", b"44"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.binary(max_size=3)),
        st.tuples(st.just("leave"), KEYS),
        st.tuples(st.just("drop"), KEYS),
        st.tuples(st.just("move"), KEYS, KEYS),
        st.tuples(st.just("truncate")),
    ),
    max_size=30,
)


@given(steps=STEPS, there=st.sets(KEYS))
def test_every_history_gives_the_rows_that_its_steps_give(
    tmp_path_factory: Any, steps: list[tuple[Any, ...]], there: set[bytes]
) -> None:
    """Each row is a key and a value; the table begins with `there`. The result of the reduction, applied to the table,
    must be that of the steps, of which each sees the one before."""
    table = {key: b"old of " + key for key in there}
    expected = dict(table)
    seen = Seen()
    with Changes(tmp_path_factory.mktemp("changes")) as changes:
        for name, *arguments in steps:
            key = arguments[0] if arguments else b""
            if name == "set":
                expected[key] = arguments[1]
                changes.set_row((key,), line(key, arguments[1]))
            elif name == "leave" and key in expected:
                changes.set_row((key,), line(key, None), [1])
            elif name == "drop" and key in expected:
                del expected[key]
                changes.drop_row((key,))
            elif name == "move" and key in expected and arguments[1] not in expected:
                expected[arguments[1]] = expected.pop(key)
                changes.set_row((arguments[1],), line(arguments[1], None), [1], (key,))
            elif name == "truncate":
                expected.clear()
                changes.truncate()
        effect = changes.reduce(seen)
    result = {} if effect.truncates else {key: value for key, value in table.items() if (key,) not in seen.deleted}
    incomplete = {one.change: one for one in seen.incomplete}
    for change, (key_cell, value) in seen.lines.items():
        key = next(key for key in (b"1", b"2", b"3", b"44") if cell(key) == key_cell)
        result[key] = table[incomplete[change].key[0]] if change in incomplete else next(iter(_text(value)))
    assert result == expected


def _text(value: bytes) -> list[bytes]:
    return [value[1:-1].replace(b'""', b'"')]


@given(st.lists(st.binary(), min_size=1).map(tuple))
def test_a_packed_key_is_unpacked_to_itself(key: Key) -> None:
    assert unpack_key(pack_key(key)) == key


@given(st.lists(st.none() | st.binary(), min_size=1))
def test_a_line_is_split_into_the_cells_that_it_was_made_of(values: list[bytes | None]) -> None:
    assert split_line(line(*values)) == [cell(value) for value in values]
