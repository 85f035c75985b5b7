"""The steps of a load with their actions. Kinds of runs combine them."""

from __future__ import annotations

from executors.runs import names
from executors.runs.steps import (
    approved,
    checks,
    columnless,
    commit,
    effect,
    hold,
    progress,
    refuse,
    rejected,
    rules,
    staging,
    watermark,
)

PROBE = names.PROBE.does(staging.probe_quarantine, staging.probe_checks, staging.create_staging)
PASS = names.PASS.does(
    staging.stage_rows,
    staging.stop_on_failed_expression,
    staging.require_all_arrived,
    rules.count_rules,
    progress.log_pass,
    rules.stop_on_rules,
)
WATERMARK = names.WATERMARK.does(watermark.skip_below_watermark).only_if(watermark.follows_watermark)
REFUSE = names.REFUSE.does(
    refuse.refuse_staged_rows, rules.count_rules, rules.stop_on_rules, rules.stop_on_rejected_rows
)
CHECK = names.CHECK.does(checks.run_checks, progress.log_checks, checks.stop_on_broken_checks)
GUARD = names.GUARD.does(hold.guard_empty)
HOLD = names.HOLD.does(hold.hold_beyond_limits).only_if(hold.has_hold_limits)
PRE_HOOKS = names.PRE_HOOKS.does(commit.run_pre_hooks)
QUARANTINE = names.QUARANTINE.does(commit.ready_quarantine)
LOAD = names.LOAD.does(commit.load_staged_rows)

REFUSE_FAILING = names.REFUSE.does(
    refuse.refuse_failing_rows, rules.count_rules, rules.stop_on_rules, rules.stop_on_rejected_rows
)
LOAD_REMAINING = names.LOAD.does(commit.load_remaining_rows)
"""After a load that has failed because of some of its rows."""

PROBE_STAGED = names.PROBE.does(approved.require_as_staged, staging.probe_quarantine)
"""For rows that an earlier attempt has staged."""

PROBE_COLUMNLESS = names.PROBE.does(staging.probe_quarantine, staging.create_staging)
PASS_COLUMNLESS = names.PASS.does(*PASS.run, columnless.stop_without_columns)
"""For sources whose records have no field."""

PROBE_LOOK = names.PROBE.does(staging.probe_checks, staging.create_staging)
EFFECT = names.EFFECT.does(effect.count_effect)
"""For runs that load nothing."""

_COUNT = (rules.count_rules, rules.stop_on_rules)
_REJECT_KNOWN = (refuse.refuse_staged_rows, *_COUNT, rejected.reject_rows_read_later, *_COUNT)
_REJECT_TAKEN = (rejected.reject_taken_keys, *_COUNT)
REFUSE_REJECTED = names.REFUSE.does(*_REJECT_KNOWN, *_REJECT_TAKEN)
REFUSE_AND_COMPARE = names.REFUSE.does(*_REJECT_KNOWN, rejected.find_conflicts, *_REJECT_TAKEN)
PRE_HOOKS_OF_REPLAY = names.PRE_HOOKS.does(rejected.open_range_to_leave, commit.run_pre_hooks)
LOAD_REJECTED = names.LOAD.does(rejected.load_rejected_rows)
EFFECT_OF_REPLAY = names.EFFECT.does(effect.count_effect, rejected.report_results)
"""For rows from quarantine."""
