"""The load mode `cdc_mirror`. It has two conditions: the setting for streams, and a source that reads changes."""

from __future__ import annotations

from ir.diagnostics import diagnose, shown
from ir.load_modes.base import Findings, LoadMode, TargetView
from ir.names import check_repeated


def check(view: TargetView) -> Findings:
    if view.target.cdc_source is None:
        yield diagnose("cdc.source_required", view.at / "cdcSource", "cdc_mirror needs a cdcSource.")
    yield from _check_gates(view)
    if view.target.hold is not None:
        message = "Changes cannot wait for an approval: later ones depend on them, and the source retains its log."
        fix = [[{"op": "remove", "path": str(view.at / "hold")}]]
        yield diagnose("cdc.no_hold", view.at / "hold", message, fixes=fix)
    yield from check_repeated(view.target.upsert_key or (), view.at / "upsertKey")


def _check_gates(view: TargetView) -> Findings:
    at, source = view.at / "loadMode", view.target.cdc_source
    if not view.streaming:
        message = "streaming disabled: cdc_mirror needs FLOW_STREAMING_ENABLED."
        yield diagnose("cdc.streaming_disabled", at, message)
    elif not view.follows_changes:
        stream = f"the stream {shown(source)}" if source else "a stream of changes"
        yield diagnose(
            "cdc.connector_missing", at, f"Debezium connector not configured: it is needed to read {stream}."
        )


MODE = LoadMode(
    name="cdc_mirror",
    sentence="Applies the changes of a table in another database.",
    runs="DELETE of the keys that the source has deleted, then INSERT … ON CONFLICT (key) DO UPDATE of the last state "
    "of every other changed row; the first load, and a TRUNCATE of the source, replace all rows",
    needs="FLOW_STREAMING_ENABLED, and a source with the connector postgres_cdc or mysql_cdc, whose id is in "
    "cdcSource.",
    fields=frozenset({"cdc_source", "upsert_key"}),
    needs_key=True,
    follows_stream=True,
    check=check,
)
