"""Rules about backfills: which pipelines can have one, and which settings fit their source and their target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ir.backfill import Backfill, BackfillHint, parse_window
from ir.connectors import CONNECTORS
from ir.connectors.base import Connector, SourceConfig
from ir.cursor_values import Axis, axis_of
from ir.destinations import Destinations
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.graph import Graph
from ir.load_modes import load_mode
from ir.nodes import Source, Target, Validate
from ir.pointers import ROOT, Pointer
from ir.structure import Draft
from ir.types import ColumnType

_AT = ROOT / "backfill"
_CHANGES = re.compile(r"(^|_)(updated?|modified|changed?|edited|touched)(_|$)|(last|updated|modified)(_?mod|at)", re.I)
"""Names of columns that usually have the time of the last change of their row."""


def check_backfill(draft: Draft, graph: Graph, destinations: Destinations | None) -> Iterator[Diagnostic]:
    """Yield the findings about the backfill of a document, if it has one."""
    spec = draft.backfill
    if spec is None:
        return
    yield from spec.check(_AT)
    if spec.max_chunks_per_tick is not None and draft.schedule is None:
        message = "Chunks would start only at the times of a schedule, and the pipeline has none."
        yield diagnose("backfill.schedule_required", _AT / "maxChunksPerTick", message)
    targets = [node for node in graph.nodes if isinstance(node.spec, Target)]
    heads = [head for node in targets for head in graph.sources_of(node)]
    if len(targets) != 1 or len(heads) != 1:
        if len(targets) > 1 or len(heads) > 1:
            message = f"The pipeline loads {len(targets)} targets from {len(heads)} sources."
            yield diagnose("backfill.one_path", _AT, message)
        return
    (target,), (head,) = targets, heads
    if isinstance(target.spec, Target) and isinstance(head.spec, Source) and head.spec.connector in CONNECTORS:
        view = _View(spec, target.spec, target.at, head.spec, CONNECTORS[head.spec.connector], destinations)
        yield from view.findings()
        if (hint := hint_of(head.spec)) is not None and hint.is_parallel:
            yield from _check_checks(graph)


def _check_checks(graph: Graph) -> Iterator[Diagnostic]:
    """Warn of checks whose limits are those of the whole source."""
    for node in graph.nodes:
        if not isinstance(node.spec, Validate) or node.spec.dataset_level is None:
            continue
        for kind in sorted({kind for kind, check in node.spec.dataset_level.checks() if check.describes_all}):
            message = f"Each chunk of the backfill must satisfy {kind} on its own, as if it were all rows."
            yield diagnose("backfill.check_per_chunk", node.at / "datasetLevel" / kind, message)


@dataclass(frozen=True)
class _View:
    """A backfill with its only source and its only target."""

    spec: Backfill
    target: Target
    at: Pointer
    source: Source
    connector: Connector
    destinations: Destinations | None

    def findings(self) -> Iterator[Diagnostic]:
        hint = hint_of(self.source)
        if hint is None:
            message = f"Sources of the kind {self.connector.name} cannot be divided into chunks."
            yield diagnose("backfill.not_supported", _AT, message)
            return
        yield from self._check_load_mode()
        yield from self._check_requests(hint)
        if self.spec.partition_by and not hint.partitions:
            message = f"Sources of the kind {self.connector.name} can be divided by the cursor column only."
            yield diagnose("backfill.partition_not_supported", _AT / "partitionBy", message)
        if hint.is_parallel:
            yield from self._check_column()
            yield from self._check_start()
        if self.target.backup_before_load:
            message = "The chunks of a backfill are not backed up; the loads after it are."
            yield diagnose("backfill.not_backed_up", self.at / "backupBeforeLoad", message)
        if self.target.hold is not None:
            message = "Each chunk is compared with these limits on its own, and waits for an approval of its own."
            yield diagnose("backfill.hold_per_chunk", self.at / "hold", message)

    def _check_load_mode(self) -> Iterator[Diagnostic]:
        mode, at = load_mode(self.target.load_mode), self.at / "loadMode"
        if mode.replaces_all_rows or mode.follows_stream:
            message = f"Each load of {mode.name} replaces all rows, also those of the chunks before it."
            yield diagnose("backfill.load_mode", at, message)
        elif mode.adds_rows and not mode.keeps_watermark:
            message = f"The first run after the backfill would add all rows again, because {mode.name} adds every row."
            yield diagnose("backfill.load_mode", at, message)
        elif not mode.keeps_watermark and self.connector.reads == "snapshot" and not self._has_state():
            message = "Each run after the backfill reads the whole source again."
            yield diagnose("backfill.reads_everything", at, message)

    def _check_moves(self, column: str) -> Iterator[Diagnostic]:
        """Warn of a cursor that changes with its row, as far as its name says so."""
        if not load_mode(self.target.load_mode).adds_rows or not _CHANGES.search(column):
            return
        message = (
            f"If {shown(column)} changes with its row, a row that changes while the backfill runs is added twice, or "
            f"not at all: {self.target.load_mode} adds rows and knows no key."
        )
        yield diagnose("backfill.rows_may_move", self.at / "loadMode", message)

    def _has_state(self) -> bool:
        config = _config_of(self.source)
        return config is not None and config.repeats_rows

    def _check_requests(self, hint: BackfillHint) -> Iterator[Diagnostic]:
        if not hint.is_parallel and (self.spec.parallelism or 1) > 1:
            message = f"{self.source.id} can only be read in order, page by page."
            yield diagnose("backfill.not_parallel", _AT / "parallelism", message)
        limit = getattr(_config_of(self.source), "requests_per_minute", None)
        rate = _rate_of(self.spec)
        if limit is not None and rate is not None and rate > limit:
            message = f"The rate budget is {rate:g} requests per minute, but {self.source.id} sends at most {limit}."
            yield diagnose("backfill.rate_contradicts", _AT / "rateBudget", message)

    def _check_start(self) -> Iterator[Diagnostic]:
        """Check that a service whose history is divided says where it begins."""
        incremental = getattr(_config_of(self.source), "incremental", None)
        if incremental is not None and incremental.until is not None and incremental.start is None:
            message = f"Nothing says where the history of {self.source.id} begins."
            yield diagnose("backfill.start_required", _AT, message)

    def _check_column(self) -> Iterator[Diagnostic]:
        column = self.spec.column or self.target.watermark_column
        if column is None:
            if self.connector.reads == "snapshot" and not self._has_state():
                message = "Nothing says by which column the history is divided."
                yield diagnose("backfill.column_required", _AT / "column", message)
            return
        yield from self._check_moves(column)
        kind = self._type_of(column)
        if kind is None:
            return
        axis = axis_of(kind)
        if axis is None:
            at = _AT / "column" if self.spec.column else self.at / "watermarkColumn"
            message = f"{shown(column)} is {kind}, whose values cannot be divided into ranges."
            yield diagnose("backfill.column_unordered", at, message)
        else:
            yield from self._check_values(axis)

    def _check_values(self, axis: Axis) -> Iterator[Diagnostic]:
        if self.spec.window is not None:
            try:
                window = parse_window(self.spec.window)
            except ValueError:
                return  # reported by the backfill's own check
            try:
                axis.step(window)
            except ValueError as error:
                yield diagnose("backfill.window_mismatch", _AT / "window", f"The window does not fit: {error}.")
        if self.spec.start_from is not None:
            try:
                axis.position(str(self.spec.start_from))
            except ValueError as error:
                yield diagnose("backfill.start_malformed", _AT / "startFrom", f"{error}.")

    def _type_of(self, column: str) -> ColumnType | None:
        """Return the type of the cursor as far as the document or the table of the target states it."""
        declared = (c.type for c in self.source.columns or () if c.name == column)
        name = next(declared, None)
        if name is not None:
            return ColumnType.parse(name)
        if self.target.watermark_column != column:
            return None
        table = (self.target.connection, self.target.schema_, self.target.table)
        found = (self.destinations or {}).get(table)
        known = found.column(column) if found is not None else None
        return known.type if known is not None else None


def hint_of(source: Source) -> BackfillHint | None:
    """Return how the history of a source can be divided, None if it cannot."""
    connector = CONNECTORS[source.connector]
    config = _config_of(source)
    return connector.backfill if config is None else config.backfill_hint(connector.backfill)


def _config_of(source: Source) -> SourceConfig | None:
    kind: Any = CONNECTORS[source.connector].config
    try:
        found: SourceConfig | None = kind.read(source.config) if kind is not None else None
    except ValidationError:
        return None  # reported with the settings
    return found


def _rate_of(spec: Backfill) -> float | None:
    """Return the rate budget in requests per minute."""
    try:
        rate = spec.rate
    except ValueError:
        return None  # reported by the backfill's own check
    return rate.requests * 60 / rate.seconds if rate is not None else None
