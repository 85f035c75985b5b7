"""Which columns of a target have the values of a source column, and which columns of the source must be complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from executors.errors import Terminal
from ir.ops import Cast, Derive, Drop, FillNull, Op, Rename, Select, Trim
from ir.pipeline import Path
from ir.pointers import ROOT

_CHANGES_IN_PLACE = (Cast, FillNull, Trim)
_MOVES_ONLY = (Rename, Select, Drop)


@dataclass(frozen=True, slots=True)
class Copies:
    """`of` maps source columns to the target columns with the same values. `used` are the source columns that an
    operation or a rule reads. `may_reject` means that a row can be rejected, so that the table may not have its last
    values."""

    of: Mapping[str, tuple[str, ...]]
    used: frozenset[str]
    may_reject: bool

    def require(self, key: Iterable[str], node: str) -> tuple[str, ...]:
        """Return the columns of the target for a key of the source. Raises Terminal `cdc.key_changed_by_transform`."""
        found = tuple(self.of.get(column, ())[:1] for column in key)
        if lost := [column for column, copies in zip(key, found, strict=True) if not copies]:
            raise Terminal(
                "cdc.key_changed_by_transform",
                f"The transforms drop or change {', '.join(lost)}, which identifies the rows of the source, so "
                "deletions cannot be applied.",
                node=node,
                hint="Rename it at most.",
            )
        return tuple(copies[0] for copies in found)


def copies_on(path: Path, columns: Iterable[str]) -> Copies:
    """Follow the columns of the source through the transforms of a path."""
    now: dict[str, str | None] = {name: name for name in columns}
    used: set[str] = set()
    changes_values = False
    for op in (op for node in path.transforms for op in node.ops):
        if not isinstance(op, _MOVES_ONLY):
            changes_values |= not isinstance(op, Derive)
            used |= _sources(now, (name for name, _ in op.reads(ROOT)))
        now = _after(now, op)
    for node in path.validates:
        for rule in node.row_level:
            used |= _sources(now, (name for name, _ in rule.reads(ROOT)))
    of: dict[str, tuple[str, ...]] = {}
    for name, source in now.items():
        if source is not None:
            of[source] = (*of.get(source, ()), name)
    has_rules = any(node.row_level for node in path.validates)
    may_reject = has_rules or changes_values or path.target.on_type_mismatch == "skip"
    return Copies(of, frozenset(used), may_reject)


def _sources(now: Mapping[str, str | None], names: Iterable[str]) -> set[str]:
    """Return the source columns with these names. An expression may write a name in another case."""
    meant = {name.casefold() for name in names}
    return {source for name, source in now.items() if source is not None and name.casefold() in meant}


def _after(now: Mapping[str, str | None], op: Op) -> dict[str, str | None]:
    if isinstance(op, Rename):
        return {op.columns.get(name, name): source for name, source in now.items()}
    if isinstance(op, Select):
        return {name: now.get(name) for name in op.columns}
    if isinstance(op, Drop):
        return {name: source for name, source in now.items() if name not in op.columns}
    written = {name for name, _ in op.adds(ROOT)} | set(op.computes())
    if isinstance(op, _CHANGES_IN_PLACE):
        written |= set(op.columns)
    return {**now, **dict.fromkeys(written)}
