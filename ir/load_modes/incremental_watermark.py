"""The load mode `incremental_watermark`."""

from __future__ import annotations

from ir.diagnostics import diagnose
from ir.load_modes.base import Findings, LoadMode, TargetView, check_known


def check(view: TargetView) -> Findings:
    column, at = view.target.watermark_column, view.at / "watermarkColumn"
    if column is None:
        yield diagnose("watermark.column_required", at, "incremental_watermark needs a watermarkColumn.")
    else:
        yield from check_known("watermark.column_unknown", column, at, view)


MODE = LoadMode(
    name="incremental_watermark",
    sentence="Adds the rows past the highest value loaded before.",
    runs="INSERT of the staged rows past the mark, and the new mark",
    needs="A column that grows, in watermarkColumn.",
    fields=frozenset({"watermark_column", "watermark_lag"}),
    check=check,
)
