"""The orders of the list of rejected rows."""

from __future__ import annotations

from executors.target_database import EntryOrder
from flowapp.quarantine.selectors import EntryFilter, sortable_by
from flowapp.web.sorting import Column, Sorting, read_sorting

COLUMNS = (
    Column("rejected", ("-id",), starts_high=True),
    Column("rule", ("ruleId", "-id")),
    Column("pipeline", ("pipelineId", "-id")),
)


def columns_of(filters: EntryFilter) -> dict[str, Column]:
    """Return the columns by which an index can sort these rows, by name."""
    served = {"rejected", *sortable_by(filters)}
    return {column.name: column for column in COLUMNS if column.name in served}


def order_of(sorting: Sorting) -> EntryOrder:
    match sorting.column.name:
        case "rule":
            return EntryOrder("rule", sorting.is_reversed)
        case "pipeline":
            return EntryOrder("pipeline", sorting.is_reversed)
        case _:
            return EntryOrder(is_reversed=sorting.is_reversed)


def sorting_of(text: str, filters: EntryFilter) -> Sorting:
    """Return the sorting in a URL; newest first if no index supports it."""
    return read_sorting(text, list(columns_of(filters).values()))
