"""Limits of a load, measured on what it would change."""

from __future__ import annotations

import pytest

from executors.effects import Effect
from executors.errors import Terminal
from executors.holding import judge
from ir.nodes.hold import Hold

LIMIT = Hold(max_key_loss_pct=10)


def test_a_limit_on_keys_that_cannot_be_measured_stops_the_load():
    effect = Effect("load", "public.t", "truncate", False, before=10, inserted=10, deleted=10)
    with pytest.raises(Terminal) as stopped:
        judge(LIMIT, effect, {})
    assert (stopped.value.code, stopped.value.node) == ("hold.key_required", "load")


def test_a_table_without_rows_has_no_key_to_lose():
    assert judge(LIMIT, Effect("load", "public.t", "truncate", False, before=0, inserted=10), {}) == []
