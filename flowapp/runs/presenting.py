"""A run for its page: the row balance, the graph of nodes, and the progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from executors.api import list_steps
from flowapp.pipelines.documents import read_document
from flowapp.runs.durations import idle_seconds_of, seconds_of
from flowapp.runs.hooks import can_run_again
from flowapp.runs.models import ACTIVE, CLAIMABLE, RESTING, Run, State
from flowapp.runs.previews import present_effects
from flowapp.runs.row_balance import RowBalance, row_balance_of
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.selectors import list_log, run_ahead, run_document
from flowapp.runs.sent_statements import sent_by
from ir.errors import FlowError
from ir.load_modes import load_mode

LOG_LINES_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Step:
    words: str
    state: str
    """`done`, `now` or `to come`"""


_EXCLUDED = ("rowsReplaced", "rowsBehindMark", "rowsSuppressed")
"""What a target leaves out itself; its filtered rows are those of the nodes before it."""


@dataclass(frozen=True, slots=True)
class NodeBar:
    """A node of the run's version. `counts` is None while it has not finished; `width` is in percent of the longest."""

    id: str
    kind: str
    counts: dict[str, Any] | None
    width: float
    row_balance: RowBalance | None
    failed: bool

    @property
    def excluded(self) -> int:
        """The rows that came in and neither went out nor broke a rule here."""
        counts = self.counts or {}
        return sum(counts.get(key) or 0 for key in (_EXCLUDED if self.kind == "target" else ("rowsFiltered",)))


@dataclass(frozen=True, slots=True)
class HookRow:
    """`again` says that it may be run again; `under_way` that somebody has asked for that, and it is not given up."""

    hook: dict[str, Any]
    again: bool
    under_way: bool


def present_run(run: Run, *, whole_log: bool = False, sees_values: bool = False) -> dict[str, Any]:
    """The context of the run's page. A constant number of queries, whatever the run has done."""
    document = run_document(run, sees_values=sees_values)
    lines = list_log(run)
    newest = list(lines.reverse()[: LOG_LINES_SHOWN + 1])
    log_is_cut = len(newest) > LOG_LINES_SHOWN and not whole_log
    return {
        "run": run,
        "run_kind": run_kind_of(run),
        "document": document,
        "hooks": (hooks := _hooks(run)),
        "backups": list(run.backups.all()),
        "watermark_nodes": _watermark_nodes(run),
        "hook_under_way": any(row.under_way for row in hooks),
        "is_active": run.state in ACTIVE and run.state not in RESTING,
        "is_held": run.state == State.HELD,
        "is_queued": run.state in CLAIMABLE,
        "ahead": run_ahead(run) if run.state in CLAIMABLE else None,
        "seconds": seconds_of(run),
        "idle_seconds": idle_seconds_of(run),
        "steps": _steps(run) if run.state == State.RUNNING else [],
        "bars": _bars(run, document),
        "equations": _row_balances(document),
        "effects": present_effects(document),
        "nothing_new": run.nothing_new,
        "log": list(lines) if whole_log else newest[LOG_LINES_SHOWN - 1 :: -1],
        "log_is_cut": log_is_cut,
        "sent": sent_by(run),
    }


def _watermark_nodes(run: Run) -> list[str]:
    """The targets that follow a watermark."""
    try:
        targets = read_document(run.document).targets()
    except FlowError:
        return []
    return [target.id for target in targets if load_mode(target.load_mode).keeps_watermark]


def _hooks(run: Run) -> list[HookRow]:
    is_held = run.lease_until is not None and run.lease_until > timezone.now()
    return [
        HookRow(hook.to_json(), can_run_again(run, hook), is_held and hook.state == "queued")
        for hook in run.stored_report.hooks
    ]


def _steps(run: Run) -> list[Step]:
    """A step that this kind of run does not know is shown alone, by its own name."""
    known = list_steps(run_kind_of(run).name)
    if run.step and run.step not in {step.name for step in known}:
        return [Step(run.step.capitalize(), "now")]
    shown = [step for step in known if not step.occasional or step.name == run.step]
    at = next((i for i, step in enumerate(shown) if step.name == run.step), -1)
    return [Step(step.label, "done" if i < at else "now" if i == at else "to come") for i, step in enumerate(shown)]


def _row_balances(document: dict[str, Any]) -> list[tuple[dict[str, Any], RowBalance]]:
    return [(node, row_balance_of(node)) for node in document["nodes"] if node.get("rowsLoaded") is not None]


def _bars(run: Run, document: dict[str, Any]) -> list[NodeBar]:
    counted = {node["id"]: node for node in document["nodes"]}
    kinds = _kinds(run) if run_kind_of(run).loads else {}
    kinds |= {name: node["kind"] for name, node in counted.items()}
    longest = max((node["durationMs"] for node in counted.values()), default=0) or 1
    return [
        NodeBar(
            name,
            kind,
            node := counted.get(name),
            max(0.5, 100 * node["durationMs"] / longest) if node else 0,
            row_balance_of(node) if node and node.get("rowsLoaded") is not None else None,
            run.error_node == name and run.state not in (State.HELD, State.DISCARDED),
        )
        for name, kind in kinds.items()
    ]


def _kinds(run: Run) -> dict[str, str]:
    """The nodes of the run's version, in its order; none where this release cannot read it."""
    try:
        return {node.id: node.kind for node in read_document(run.document).nodes}
    except FlowError:
        return {}
