"""The load mode `cdc_mirror`. It has two conditions: the setting for streams, and a connector that reads them."""

from __future__ import annotations

from ir.diagnostics import diagnose, shown
from ir.load_modes.base import Findings, LoadMode, TargetView


def check(view: TargetView) -> Findings:
    source = view.target.cdc_source
    if source is None:
        yield diagnose("cdc.source_required", view.at / "cdcSource", "cdc_mirror needs a cdcSource.")
    yield from _check_gates(view)


def _check_gates(view: TargetView) -> Findings:
    """No connector of this release reads a stream, so the second condition is never met."""
    at, source = view.at / "loadMode", view.target.cdc_source
    if not view.streaming:
        message = "streaming disabled: cdc_mirror needs FLOW_STREAMING_ENABLED."
        yield diagnose("cdc.streaming_disabled", at, message)
    else:
        stream = f"the stream {shown(source)}" if source else "a stream of changes"
        yield diagnose(
            "cdc.connector_missing", at, f"Debezium connector not configured: it is needed to read {stream}."
        )


MODE = LoadMode(
    name="cdc_mirror",
    sentence="Applies the changes of a table in another database.",
    runs="The changes of the stream, in order",
    needs="FLOW_STREAMING_ENABLED, a Debezium connector, and the stream's name in cdcSource.",
    fields=frozenset({"cdc_source"}),
    follows_stream=True,
    check=check,
)
