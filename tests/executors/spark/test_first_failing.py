"""The row for which an expression failed. No expression fails for rows that are rejected in any case."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from executors.errors import Cancelled, Terminal
from executors.formats import csv
from executors.model import Connection
from executors.spark import first_failing, one_pass
from executors.spark.first_failing import FirstFailing
from executors.spark.session import RunSession
from tests.executors.spark.passes import stage
from tests.executors.spark.paths import make_path

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TYPED = [{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]
PER = {"op": "derive", "columns": {"per": "a / b"}}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit, so that a busy machine does not change the result."""
    monkeypatch.setattr(first_failing, "SECONDS", 600)


def write(folder: Path, name: str, *rows: str) -> Path:
    file = folder / name
    file.write_text("\n".join(["a,b", *rows, ""]))
    return file


def failed(run_session: RunSession, warehouse: Connection, *args, **more) -> Terminal:
    with pytest.raises(Terminal) as caught:
        stage(run_session, warehouse, *args, **more)
    assert caught.value.code == "expression.failed"
    return caught.value


def test_the_first_row_that_an_expression_fails_for_is_named(
    run_session: RunSession, warehouse: Connection, tmp_path: Path
) -> None:
    good = write(tmp_path, "1.csv", *(f"{n},1" for n in range(90)))
    bad = write(tmp_path, "2.csv", *(f"{n},{0 if n in (50, 60) else 7}" for n in range(1, 90)))
    error = failed(run_session, warehouse, make_path(PER, columns=TYPED), [good, bad])
    assert "'a / b' (derive (op 1) of shape, column 'per') failed" in error.message
    assert error.message.endswith("DIVIDE_BY_ZERO. The first failing row is 2.csv record 50.")


@pytest.mark.slow
def test_it_is_found_in_a_file_of_many_parts(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv, "scan", partial(csv.scan, split_bytes=200))
    rows = (f"{n},{0 if n > 700 else 7}" for n in range(1, 900))
    path = make_path({"op": "filter", "where": "a / b > 0"}, columns=TYPED)
    error = failed(run_session, warehouse, path, [write(tmp_path, "a.csv", *rows)])
    assert error.message.endswith("The first failing row is a.csv record 701.")


def test_whoever_looks_for_too_long_reports_what_is_known(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_failing, "SECONDS", -1)
    error = failed(run_session, warehouse, make_path(PER, columns=TYPED), [write(tmp_path, "a.csv", "1,0")])
    assert error.message.endswith("failed on a row of the data: DIVIDE_BY_ZERO.")


def test_a_run_that_is_cancelled_looks_no_further(
    run_session: RunSession, warehouse: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = FirstFailing._failure_in

    def interrupting(self, *args):
        run_session.interrupt()
        return look(self, *args)

    monkeypatch.setattr(FirstFailing, "_failure_in", interrupting)
    with pytest.raises(Cancelled):
        stage(run_session, warehouse, make_path(PER, columns=TYPED), [write(tmp_path, "a.csv", "1,0")])


def test_a_run_that_is_cancelled_between_two_tries_is_not_tried_again(
    run_session: RunSession, warehouse: Connection, trailed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = one_pass.mask_rejected

    def interrupting(*args):
        run_session.interrupt()
        return spare(*args)

    monkeypatch.setattr(one_pass, "mask_rejected", interrupting)
    path = make_path({"op": "derive", "columns": {"per": "n / of"}}, columns=WRONG, onTypeMismatch="skip")
    with pytest.raises(Cancelled):
        stage(run_session, warehouse, path, [trailed])


WRONG = [{"name": "id", "type": "integer"}, {"name": "n", "type": "integer"}, {"name": "of", "type": "integer"}]


@pytest.fixture
def trailed(tmp_path: Path) -> Path:
    """A file whose last line is a trailer, marked by its first cell. Its values would cause a division by zero."""
    file = tmp_path / "trailed.csv"
    file.write_text("id,n,of,kind\n1,6,2,x\n2,6,3,y\nTOTAL,0,0,y\nbad,6,1,x\n")
    return file


@pytest.mark.parametrize(
    ("op", "loaded"),
    [
        ({"op": "derive", "columns": {"per": "n / of"}}, [1, 2]),
        ({"op": "filter", "where": "n / of > 2"}, [1]),
    ],
    ids=["derive", "filter"],
)
def test_no_expression_fails_for_a_row_that_a_value_of_no_column_of_it_rejects(
    run_session: RunSession, warehouse: Connection, trailed: Path, op: dict, loaded: list[int]
) -> None:
    path = make_path({"op": "filter", "where": "kind <> 'z'"}, op, columns=WRONG, onTypeMismatch="skip")
    staged = stage(run_session, warehouse, path, [trailed])
    assert [row[0] for row in staged.rows] == loaded
    assert staged.violations() == {"orders/type:id": 2}
    assert [entry["record"] for entry in staged.rejects] == [3, 4]


def test_a_filter_that_cannot_fail_takes_what_it_took(
    run_session: RunSession, warehouse: Connection, trailed: Path
) -> None:
    ops = {"op": "derive", "columns": {"per": "n / of"}}, {"op": "filter", "where": "kind = 'y'"}
    staged = stage(run_session, warehouse, make_path(*ops, columns=WRONG, onTypeMismatch="skip"), [trailed])
    assert [row[0] for row in staged.rows] == [2]
    assert [entry["record"] for entry in staged.rejects] == [3]


@pytest.mark.slow
def test_a_dropped_column_protects_no_row(run_session: RunSession, warehouse: Connection, trailed: Path) -> None:
    ops = PER | {"columns": {"per": "n / of"}}, {"op": "drop", "columns": ["id"]}
    error = failed(run_session, warehouse, make_path(*ops, columns=WRONG, onTypeMismatch="skip"), [trailed])
    assert error.message.endswith("The first failing row is trailed.csv record 3.")


@pytest.mark.slow
def test_a_row_whose_wrong_value_becomes_null_is_evaluated(
    run_session: RunSession, warehouse: Connection, trailed: Path
) -> None:
    path = make_path({"op": "derive", "columns": {"per": "n / of"}}, columns=WRONG, onTypeMismatch="null")
    assert "trailed.csv record 3" in failed(run_session, warehouse, path, [trailed]).message


@pytest.mark.slow
def test_the_reported_row_is_one_that_was_evaluated(
    run_session: RunSession, warehouse: Connection, trailed: Path
) -> None:
    trailed.write_text(trailed.read_text() + "5,1,0,x\n")
    path = make_path({"op": "derive", "columns": {"per": "n / of"}}, columns=WRONG, onTypeMismatch="skip")
    assert "trailed.csv record 5" in failed(run_session, warehouse, path, [trailed]).message
