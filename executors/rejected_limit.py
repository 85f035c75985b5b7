"""The failure of a load that rejects too many of its rows, with its probable cause."""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import Terminal
from executors.formats.format_mismatches import SETTINGS_HINT
from executors.model import RuleCount
from ir.nodes import Target
from ir.words import counted

_MOST_CAUSES = 3


def too_many_rejected(
    target: Target, rows: int, rejected: int, rules: Sequence[RuleCount], mismatches: Sequence[str]
) -> Terminal:
    """Return the failure. `rows` is the number of rows after filters. `mismatches` lists settings of the source that do
    not fit; if there are any, they are reported as the cause."""
    causes = list(mismatches) or [_cause(rule) for rule in rules if _rejects(rule) == rejected][:_MOST_CAUSES]
    what = (
        f"{_all(rows)} {_were(rows)} rejected"
        if rejected == rows
        else f"{rejected:,} of {counted(rows, 'row')} were rejected ({100 * rejected / rows:.3g} %)"
    )
    return _failure(target, what, causes, is_of_settings=bool(mismatches))


def files_rejected(target: Target, files: Sequence[tuple[str, int]], mismatches: Sequence[str]) -> Terminal:
    """Return the failure for files of which every row was rejected, given by name and number of rows. Other files had
    accepted rows."""
    (first, rows), *others = files
    more = f", and of {counted(len(others), 'more file')}," if others else ""
    return _failure(target, f"{_all(rows)} of {first}{more} {_were(rows)} rejected", mismatches)


def _all(rows: int) -> str:
    return f"All {rows:,} rows" if rows > 1 else "The only row"


def _were(rows: int) -> str:
    return "were" if rows > 1 else "was"


def _failure(target: Target, what: str, causes: Sequence[str], *, is_of_settings: bool = True) -> Terminal:
    because = f": {'; '.join(causes)}" if causes else ""
    fix = SETTINGS_HINT if is_of_settings else "See the rejected rows, and correct the source or the rules."
    return Terminal(
        "rows.too_many_rejected",
        f"{what}{because}. The target was not loaded.",
        node=target.id,
        hint=f"{fix} If this is expected, set failAtRejectedPct of the target "
        f"({target.fail_at_rejected_pct:g} now) to 0.",
    )


def _rejects(rule: RuleCount) -> int:
    return 0 if rule.on_fail == "warn" else rule.violations


def _cause(rule: RuleCount) -> str:
    where = f" on {rule.field!r}" if rule.field else ""
    why = f" ({rule.message})" if rule.message else ""
    return f"the rule {rule.type}{where}{why} rejects every row"
