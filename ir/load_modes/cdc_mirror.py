"""The load mode `cdc_mirror`."""

from __future__ import annotations

from ir.diagnostics import diagnose
from ir.load_modes.base import Findings, LoadMode, TargetView


def check(view: TargetView) -> Findings:
    if view.target.cdc_source is None:
        yield diagnose("cdc.source_required", view.at / "cdcSource", "cdc_mirror needs a cdcSource.")


MODE = LoadMode(
    name="cdc_mirror",
    sentence="Follows the changes of a table in another database.",
    runs="The changes of the stream, in their order",
    needs="A stream of changes, in cdcSource.",
    fields=frozenset({"cdc_source"}),
    check=check,
)
