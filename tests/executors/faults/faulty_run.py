"""One attempt at a run, which stops at a step and waits there for a fault."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from executors.errors import Failure
from executors.holding import StagedLoad
from executors.model import BackupRef, Connection, FileUndo, RowsRef, RunJob, StoreConnection
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.load import run_pipeline
from executors.runs.replay import replay_rows
from executors.runs.restore import restore_pipeline
from executors.runs.undo import undo_file
from tests.executors.conformance.destinations import WORLDS
from tests.executors.conformance.world import Memory, World

AFTER_COMMIT = "after commit"


@dataclass(frozen=True)
class Spec:
    """The attempt and the step at which it waits. `backup` is the backup that a restore uses, `rows` are the rows of a
    replay, `undo` is the file that an undo deletes. `destination` and `stores` are those of the world."""

    folder: Path
    warehouse: Connection
    schema: str
    tenant: str
    token: int
    run_id: str
    document: dict[str, Any]
    step: str
    attempt: int = 1
    approved: Mapping[str, StagedLoad] = field(default_factory=dict)
    backup: BackupRef | None = None
    rows: RowsRef | None = None
    undo: FileUndo | None = None
    destination: str = "postgres"
    stores: Mapping[str, StoreConnection] = field(default_factory=dict)


def carry_out_apart(spec: Spec, pipe: Pipe) -> None:
    """Run `carry_out` as the head of a process group, which can be killed as a whole."""
    os.setsid()
    carry_out(spec, pipe)


def carry_out(spec: Spec, pipe: Pipe) -> None:
    """Send `at STEP` at the step, continue when a message arrives, then send `ended well` or `ended CODE`."""

    def wait_at(step: str) -> None:
        if step == spec.step:
            pipe.send(f"at {step}")
            pipe.recv()

    memory = Memory(
        on_step=lambda name, node: wait_at(name),
        on_committed=lambda commit: wait_at(AFTER_COMMIT),
    )
    kind = WORLDS[spec.destination]
    world = kind(spec.folder, spec.warehouse, spec.schema, memory, spec.tenant, stores=dict(spec.stores))
    pipe.send(f"ended {_outcome(lambda: _run(world, spec))}")


def _run(world: World, spec: Spec) -> None:
    given = {"approved": spec.approved, "backup": spec.backup, "rows": spec.rows, "undo": spec.undo}
    job = world.job(spec.document, spec.run_id, spec.attempt, spec.token, **given)
    _work_of(spec)(job, world.memory.ports())


def _work_of(spec: Spec) -> Callable[[RunJob, Ports], RunReport]:
    if spec.undo:
        return undo_file
    return restore_pipeline if spec.backup else replay_rows if spec.rows else run_pipeline


def _outcome(work: Callable[[], None]) -> str:
    try:
        work()
    except Failure as failure:
        return failure.code
    return "well"
