"""The steps of runs without their actions: their names, their labels, and which of them may commit."""

from __future__ import annotations

from typing import Any

from executors.runs.step import Step

START: Step[Any] = Step("start", "Start", of_run=True)
LIST: Step[Any] = Step("list", "Open the source", announced=False)
SCAN: Step[Any] = Step("scan", "Scan the source", announced=False)
PLAN: Step[Any] = Step("plan", "Plan chunks", of_run=True)
COUNT: Step[Any] = Step("count", "Count the rows of the source")
PROBE: Step[Any] = Step("probe", "Inspect the target")
PASS: Step[Any] = Step("pass", "Read, validate and stage rows")
WATERMARK: Step[Any] = Step("watermark", "Skip rows below the watermark", occasional=True)
REFUSE: Step[Any] = Step("refuse", "Store rejected rows", occasional=True)
CHECK: Step[Any] = Step("check", "Run dataset checks")
GUARD: Step[Any] = Step("guard", "Check for an empty source")
HOLD: Step[Any] = Step("hold", "Check approval limits", occasional=True)
EFFECT: Step[Any] = Step("effect", "Count changes")
PRE_HOOKS: Step[Any] = Step("hooks", "Run hooks before the load", occasional=True, announced=False)
QUARANTINE: Step[Any] = Step("quarantine", "Prepare the quarantine", occasional=True, announced=False)
LOAD: Step[Any] = Step("load", "Load", may_commit=True)
POST_HOOKS: Step[Any] = Step(
    "post_hooks", "Run hooks after the load", may_commit=True, occasional=True, announced=False
)
FINISH: Step[Any] = Step("finish", "Finish", may_commit=True, of_run=True)

ALL = (
    START,
    LIST,
    SCAN,
    PLAN,
    COUNT,
    PROBE,
    PASS,
    WATERMARK,
    REFUSE,
    CHECK,
    GUARD,
    HOLD,
    EFFECT,
    PRE_HOOKS,
    QUARANTINE,
    LOAD,
    POST_HOOKS,
    FINISH,
)
LABELS = {step.name: step.label for step in ALL}


def may_commit(name: str) -> bool:
    """Return whether the run may have committed something once it enters this step. True for unknown steps."""
    return next((step.may_commit for step in ALL if step.name == name), True)
