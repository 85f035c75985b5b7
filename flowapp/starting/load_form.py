"""The part of the form that all sources share: the table, the load mode and the name of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowapp.accounts.models import Workspace
from flowapp.starting.answers import Answers, Choice, Setting, make_setting
from flowapp.starting.documents import FAIL, REJECT, Load
from flowapp.starting.names import free_slug
from flowapp.starting.place import Place, place_settings
from ir.load_modes import LOAD_MODES, LoadMode

ON_MISFIT = (
    Choice(REJECT, "Reject the row, load the others"),
    Choice(FAIL, "Fail the run, load nothing"),
)


@dataclass(slots=True)
class LoadForm:
    """The fields. `slug` is the id of the new pipeline, `key` the columns of the table that identify a row."""

    place: Place
    place_settings: list[Setting]
    modes: list[LoadMode]
    mode: Setting
    on_misfit: Setting
    name: Setting
    slug: str
    key: tuple[str, ...] = ()

    def settings(self) -> Iterator[Setting]:
        yield from (*self.place_settings, self.mode, self.on_misfit, self.name)


def make_load_form(workspace: Workspace, answers: Answers, place: Place, load: Load, name: str) -> LoadForm:
    """Return the fields with chosen or proposed values; `name` is the proposed name of the pipeline."""
    modes = available_modes(from_table=load.from_table)
    named = make_setting(answers, "name", "Name of the pipeline", answers.text("name", name))
    return LoadForm(
        place=place,
        place_settings=place_settings(answers, place),
        modes=modes,
        mode=make_setting(answers, "mode", "Load mode", load.mode, tuple(Choice(m.name, m.name) for m in modes)),
        on_misfit=make_setting(answers, "onMisfit", "If a value does not fit", load.on_misfit, ON_MISFIT),
        name=named,
        slug=free_slug(workspace, named.value),
        key=load.key,
    )


def available_modes(*, from_table: bool) -> list[LoadMode]:
    """Return the load modes of a new pipeline. A watermark needs a source that can select rows."""
    modes = (mode for mode in LOAD_MODES.values() if not mode.follows_stream)
    return [mode for mode in modes if from_table or not mode.keeps_watermark]
