"""Checks whether a destination supports what a run needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from executors.checks import bound_checks
from executors.destinations.base import Capabilities
from executors.errors import Terminal
from ir.pipeline import Path


def refuse_unsupported(capabilities: Capabilities, paths: Sequence[Path], needs: Iterable[str]) -> None:
    """Raise Terminal `destination.not_supported` if the destination lacks a capability that the paths to a target or
    the kind of run need. `needs` are names of capabilities."""
    path = paths[0]
    asked = dict.fromkeys((*needs, *(["unions"] if len(paths) > 1 else []), *_needed_by(path)))
    missing = [name for name in asked if not getattr(capabilities, name)]
    if path.target.load_mode not in capabilities.load_modes:
        missing.append(f"loadMode {path.target.load_mode}")
    missing += sorted({kind for _, kind, _ in bound_checks(path)} & capabilities.no_checks)
    if missing:
        raise Terminal(
            "destination.not_supported",
            f"The destination {path.target.connector!r} does not support: {', '.join(missing)}.",
            node=path.target.id,
            hint="Remove this from the pipeline, or choose another destination.",
        )


def _needed_by(path: Path) -> Iterator[str]:
    """Yield the capabilities that a document needs."""
    target = path.target
    if bound_checks(path):
        yield "checks"
    if any(validate.quarantine and validate.quarantine.enabled for validate in path.validates):
        yield "quarantine"
    if list(target.hooks()):
        yield "hooks"
    if target.hold is not None:
        yield "holds"
    if target.backup_before_load:
        yield "undo"
