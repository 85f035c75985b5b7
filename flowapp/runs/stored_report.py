"""The part of a run's report that is not stored as nodes, rules or columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from executors.report import CheckReport, Effect, HookReport, RunReport, RunWarning
from flowapp.logs import redact
from ir.stored_json import StoredJson


@dataclass(frozen=True, slots=True)
class StoredReport:
    """The report of the newest attempt. Texts are redacted, and it contains no row values. `row_results` is the number
    of processed rejected rows by result."""

    checks: tuple[CheckReport, ...] = ()
    quarantine_entries: int = 0
    quarantine_tables: tuple[str, ...] = ()
    warnings: tuple[RunWarning, ...] = ()
    hooks: tuple[HookReport, ...] = ()
    effects: tuple[Effect, ...] = ()
    nothing_new_reason: str = ""
    row_results: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, report: RunReport) -> StoredReport:
        return cls(
            checks=tuple(report.checks),
            quarantine_entries=report.quarantine_entries,
            quarantine_tables=tuple(report.quarantine_tables),
            warnings=tuple(replace(warning, message=redact(warning.message)) for warning in report.warnings),
            hooks=tuple(map(redacted_hook, report.hooks)),
            effects=tuple(map(without_values, report.effects)),
            nothing_new_reason=report.nothing_new_reason,
            row_results=report.row_counts,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON with its format version."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> StoredReport:
        """Read a stored report. Raises FlowError `stored.version_unknown`."""
        return _FORMAT.load(stored)


_FORMAT = StoredJson("report of a run", StoredReport, 1)


def redacted_hook(hook: HookReport) -> HookReport:
    return replace(hook, message=redact(hook.message))


def without_values(effect: Effect) -> Effect:
    """Return the counts of an effect, without its sample rows."""
    return replace(effect, keys=effect.keys and replace(effect.keys, samples=()))


def check_documents(checks: Sequence[CheckReport]) -> list[dict[str, Any]]:
    """Return checks in the form of `flow run --json`. A check of several targets has evaluated the rows of each, and
    names the target."""
    return [_check_document(check, checks) for check in checks]


def _check_document(check: CheckReport, checks: Sequence[CheckReport]) -> dict[str, Any]:
    shown = {
        "node": check.node,
        "check": check.check,
        "ok": check.ok,
        "message": check.message,
        "observed": check.observed,
        **({"subject": check.subject} if check.subject else {}),
    }
    key = check.node, check.check, check.subject
    others = {c.target for c in checks if (c.node, c.check, c.subject) == key} - {check.target}
    return {**shown, "target": check.target} if others else shown
