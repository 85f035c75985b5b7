"""The load mode `incremental_watermark`."""

from __future__ import annotations

from datetime import timedelta

from ir.destinations import DestinationColumn
from ir.diagnostics import Skipped, diagnose, shown
from ir.durations import parse_duration
from ir.load_modes.base import Findings, LoadMode, TargetView, check_known
from ir.types import ColumnType
from ir.watermarks import LONGEST_LAG, Lag, lag_fault, lead_fault, parse_lag, watermark_family


def check(view: TargetView) -> Findings:
    column, at = view.target.watermark_column, view.at / "watermarkColumn"
    if column is None:
        yield diagnose("watermark.column_required", at, "incremental_watermark needs a watermarkColumn.")
        return
    yield from check_known("watermark.column_unknown", column, at, view)
    yield from _check_lag_length(view)
    kind = view.type_of(column)
    if kind is None:
        yield Skipped("watermark.column_unordered", at, "the column's type is unknown without access to the table")
        return
    yield from _check_type(column, kind, view)
    yield from _check_lag(kind, view)
    yield from _check_lead(kind, view)
    yield from _check_nullable(column, view)


def _found(column: str, view: TargetView) -> DestinationColumn | None:
    return view.destination.column(column) if view.destination is not None else None


def _check_type(column: str, kind: ColumnType, view: TargetView) -> Findings:
    at = view.at / "watermarkColumn"
    family = watermark_family(kind)
    if family is None:
        yield diagnose(
            "watermark.column_unordered", at, f"{shown(column)} is {kind}, which has no order that a watermark can use."
        )
    elif family == "text":
        yield diagnose(
            "watermark.column_text",
            at,
            f"{shown(column)} is a text. Watermarks are compared byte by byte: '10' is below '9'.",
        )


def _check_lag_length(view: TargetView) -> Findings:
    lag = _lag(view)
    if isinstance(lag, timedelta) and lag > LONGEST_LAG:
        yield diagnose("watermark.lag_mismatch", view.at / "watermarkLag", "The lag is longer than 100 years.")


def _check_lag(kind: ColumnType, view: TargetView) -> Findings:
    lag = _lag(view)
    fault = lag_fault(lag, kind) if lag is not None else None
    if fault:
        yield diagnose("watermark.lag_mismatch", view.at / "watermarkLag", fault)


def _check_lead(kind: ColumnType, view: TargetView) -> Findings:
    try:
        lead = parse_duration(view.target.watermark_lead) if view.target.watermark_lead else None
    except ValueError:
        return  # reported by the target's own check
    if lead is not None and (fault := lead_fault(lead, kind)):
        yield diagnose("watermark.lead_mismatch", view.at / "watermarkLead", fault)


def _lag(view: TargetView) -> Lag | None:
    try:
        return None if view.target.watermark_lag is None else parse_lag(view.target.watermark_lag)
    except ValueError:
        return None  # reported by the target's own check


def _check_nullable(column: str, view: TargetView) -> Findings:
    found = _found(column, view)
    if found is not None and found.nullable:
        yield diagnose(
            "watermark.column_nullable",
            view.at / "watermarkColumn",
            f"{shown(column)} may be NULL. Rows without a value are handled according to onTypeMismatch "
            f"({view.target.on_type_mismatch}).",
        )


MODE = LoadMode(
    name="incremental_watermark",
    sentence="Adds the rows above the highest loaded value.",
    runs="INSERT of the staged rows above the watermark, and the new watermark, in one transaction",
    needs="A column whose values grow and are never NULL, in watermarkColumn.",
    fields=frozenset({"watermark_column", "watermark_lag", "watermark_lead"}),
    nearest="upsert",
    adds_rows=True,
    keeps_watermark=True,
    check=check,
)
