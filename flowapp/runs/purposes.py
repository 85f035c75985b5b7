"""What runs are for: one table from purpose to what executes it and where its page is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from executors.model import RunJob, RunReport
from executors.ports import Ports
from flowapp.runs.models import COUNTED, Purpose, Run

Engine = Callable[[RunJob, Ports], RunReport]


@dataclass(frozen=True, slots=True)
class PurposeSpec:
    """`engine` is named by dotted path, for it brings Spark. `fragment` is the part of the page that changes.

    `tells_effects` says that its result is what a load would change.
    """

    purpose: Purpose
    engine: str
    fragment: str
    tells_effects: bool = False

    @property
    def counts(self) -> bool:
        """Whether it counts as a run of its pipeline."""
        return self.purpose in COUNTED

    def load_engine(self) -> Engine:
        module, _, name = self.engine.partition(":")
        engine: Engine = getattr(import_module(module), name)
        return engine


_SPECS = (
    PurposeSpec(Purpose.LOAD, "executors.engine:run_pipeline", "runs/_live.html"),
    PurposeSpec(Purpose.PREVIEW, "executors.preview:preview_pipeline", "runs/_preview.html", tells_effects=True),
)
PURPOSES = {spec.purpose: spec for spec in _SPECS}


def purpose_of(run: Run) -> PurposeSpec:
    return PURPOSES[Purpose(run.purpose)]
