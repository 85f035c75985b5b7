"""Limits of a load, compared with its changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.effects import Effect, KeyMatch
from executors.errors import Terminal
from executors.holding import Evaluation, Reason, check_hold_limits, not_approved
from ir.nodes.hold import Hold

LIMIT = Hold(max_key_loss_pct=10)


def test_a_limit_on_keys_that_cannot_be_measured_stops_the_load():
    effect = Effect("load", "public.t", "truncate", False, before=10, inserted=10, deleted=10)
    with pytest.raises(Terminal) as stopped:
        check_hold_limits(LIMIT, effect, {})
    assert (stopped.value.code, stopped.value.node) == ("hold.key_required", "load")


def test_a_table_without_rows_has_no_key_to_lose():
    assert check_hold_limits(LIMIT, Effect("load", "public.t", "truncate", False, before=0, inserted=10), {}) == []


KEYS = KeyMatch(("id",), new=0, changed=2, same=1, gone=7)
EFFECT = Effect("load", "public.t", "truncate", False, before=10, inserted=3, deleted=10, keys=KEYS)
DECREASE = Reason("maxDecreasePct", 50, 70, "70 % fewer")
APPROVED = Evaluation.of([DECREASE], EFFECT)


def test_what_was_approved_needs_no_second_approval():
    assert not_approved(APPROVED, APPROVED) == []


def test_a_smaller_effect_needs_no_second_approval():
    keys = replace(KEYS, changed=1, gone=6)
    smaller = Evaluation.of([replace(DECREASE, found=60)], replace(EFFECT, before=9, deleted=9, keys=keys))
    assert not_approved(APPROVED, smaller) == []


def test_a_limit_that_is_exceeded_by_more_needs_a_second_approval():
    worse = replace(DECREASE, found=99)
    assert not_approved(APPROVED, Evaluation.of([worse], EFFECT)) == [worse]


def test_another_limit_that_is_exceeded_needs_a_second_approval():
    other = Reason("maxNullRateIncreasePct", 5, 6, "more NULLs", "name")
    assert not_approved(APPROVED, Evaluation.of([DECREASE, other], EFFECT)) == [DECREASE, other]


@pytest.mark.parametrize(
    ("effect", "wrong"),
    [
        (replace(EFFECT, deleted=1000), "would delete 1,000 rows; 10 were approved"),
        (replace(EFFECT, keys=replace(KEYS, changed=3)), "would change 3 rows; 2 were approved"),
        (replace(EFFECT, keys=replace(KEYS, gone=8)), "would delete 8 keys; 7 were approved"),
    ],
)
def test_more_rows_that_are_deleted_or_changed_need_a_second_approval(effect: Effect, wrong: str):
    reasons = not_approved(APPROVED, Evaluation.of([DECREASE], effect))
    assert [reason.limit for reason in reasons] == ["maxDecreasePct", "approved"]
    assert wrong in reasons[-1].message
