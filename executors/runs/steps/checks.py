"""Runs dataset checks on the staged rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from executors.errors import InvalidContent
from executors.report import CheckReport
from executors.runs.state import LoadState


def run_checks(state: LoadState) -> LoadState:
    return replace(state, check_reports=tuple(state.load.handler.run_checks(state)))


def stop_on_broken_checks(state: LoadState) -> LoadState:
    _stop_on_broken(state.check_reports)
    return state


def _stop_on_broken(reports: Sequence[CheckReport]) -> None:
    """Raise Terminal `check.abort` for failed checks that abort the load."""
    if broken := [report for report in reports if not report.ok and report.on_fail == "abort"]:
        raise InvalidContent(
            "check.abort",
            f"{'; '.join(f'{report.check}: {report.message}' for report in broken)}. The target was not loaded.",
            node=broken[0].node,
            hint="Correct the source, or set onFail of the check to warn.",
        )
