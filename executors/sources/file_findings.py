"""Warnings and failures about the files of a source and the targets that load them."""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import Terminal
from executors.model import FileScan, SourceFile
from executors.ports import Events
from executors.reading import warn_of_blank
from executors.report import RunWarning
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source, Target
from ir.words import counted


def report_others(
    source: Source, archive: SourceFile, names: Sequence[str], warnings: list[RunWarning], events: Events
) -> None:
    """Report the files in an archive that are not read. With a pattern for them, somebody has decided this, so that
    only the log names them; otherwise they may hold rows that nobody misses."""
    if not names:
        return
    text = describe_others(source, archive, names)
    if config_of(source, FilesConfig).members is not None:
        events.log("info", text, source.id)
    else:
        warnings.append(RunWarning("file.members_not_read", source.id, text))


def describe_others(source: Source, archive: SourceFile, names: Sequence[str]) -> str:
    """Return which files in an archive are not read, and why."""
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    text = f"{counted(len(names), 'file')} in {archive.name} not read, because of names that do not match"
    if config_of(source, FilesConfig).members is not None:
        return f"{text} the pattern: {shown}."
    return f"{text}: {shown}. Set members to a pattern to say which files are read."


def target_renamed(target: Target, nodes: Sequence[str]) -> RunWarning:
    return RunWarning(
        "target.renamed",
        target.id,
        f"{counted(len(nodes), 'file')} counted as loaded: {' and '.join(sorted(set(nodes)))}, which this pipeline no "
        f"longer has, loaded them into {target.schema_}.{target.table}. To load them into this target too, load again "
        "with a reason.",
    )


def table_changed(target: Target, other: str, files: int) -> Terminal:
    return Terminal(
        "target.table_changed",
        f"This target loads {target.schema_}.{target.table} now, but {files:,} of the files were loaded into {other}.",
        node=target.id,
        hint="Load all files again to fill the new table, or set the target back to the old table.",
    )


def blank_beside_others(source: Source, scans: Sequence[FileScan]) -> list[RunWarning]:
    """Warn of blank files that are loaded with others. A source of blank files alone is reported by the load."""
    blank = [scan.file.name for scan in scans if scan.is_blank]
    return [warn_of_blank(source.id, blank)] if 0 < len(blank) < len(scans) else []


def table_gone(target: Target, files: int) -> Terminal:
    return Terminal(
        "target.table_gone",
        f"{target.schema_}.{target.table} does not exist, though {files:,} of the files count as loaded by this "
        "target: the table was dropped or renamed, or the target names another one now.",
        node=target.id,
        hint="Load all files again to fill a new table, or restore the table.",
    )
