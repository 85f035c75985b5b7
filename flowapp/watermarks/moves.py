"""Describe in sentences what the next load does with a watermark."""

from __future__ import annotations

from executors.target_database import WatermarkMove
from ir.words import counted


def describe_move(move: WatermarkMove | None, column: str, *, reads_files: bool) -> list[str]:
    """Say where the next load begins, and which rows it reads again or skips because of the change."""
    source = "new files" if reads_files else "the source"
    if move is None:
        return [f"The table does not exist. The next run creates it and loads all rows of {source}."]
    if move.direction == "incomparable" and move.new is None:
        return [f"The next run fails: the stored watermark is not one of column {column}. Set or reset it."]
    if move.bound is None:
        return [f"The next run loads all rows of {source} that the table does not hold."]
    begin = f"Of {source}, the next run loads the rows whose {column} is {move.bound} or higher."
    return [begin, *_skipped(move), *_read_again(move, reads_files)]


def _skipped(move: WatermarkMove) -> list[str]:
    if move.direction != "forward" or move.old is None:
        return ["It skips all lower rows."]
    return [
        f"It skips all lower rows, also those from {move.old} on that are not loaded yet. They stay out, unless you "
        "set the watermark back."
    ]


def _read_again(move: WatermarkMove, reads_files: bool) -> list[str]:
    if move.direction not in ("back", "incomparable"):
        return []
    held = f"The table holds {counted(move.table_rows, 'row')} from there on. " if move.table_rows is not None else ""
    lines = [f"{held}Rows that the table holds are not loaded a second time; rows that it lacks are loaded."]
    if reads_files:
        return [*lines, "Files that are loaded already are not read again. To read them, also choose Load again."]
    return ["It reads rows from there on again.", *lines]
