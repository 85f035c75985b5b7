"""Reading stored documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from django.conf import settings
from pydantic import TypeAdapter

from ir.allowances import Allowances
from ir.destinations import Destinations
from ir.documents import Syntax
from ir.parse import Parsed, parsePipelineIR
from ir.pipeline import Pipeline
from ir.schedules import Schedule

_SCHEDULE: TypeAdapter[Schedule] = TypeAdapter(Schedule)


def syntax_of(text: str) -> Syntax:
    """Return the syntax of a valid document: JSON starts with a brace, TOML never does."""
    return "json" if text.lstrip("\ufeff \t\r\n").startswith("{") else "toml"


def parse(
    text: str | bytes,
    syntax: Syntax,
    destinations: Destinations | None = None,
    sources: Mapping[str, Sequence[str]] | None = None,
    allowances: Allowances | None = None,
    seconds: float | None = None,
) -> Parsed:
    """Run `parsePipelineIR` with what this installation allows. Raises InvalidPipeline."""
    return parsePipelineIR(
        text,
        syntax=syntax,
        destinations=destinations,
        sources=sources,
        streaming=settings.FLOW_STREAMING_ENABLED,
        allowances=allowances,
        seconds=seconds,
    )


@lru_cache(maxsize=64)
def read_document(text: str, syntax: Syntax | None = None) -> Pipeline:
    """Return the typed pipeline of a document's text. Raises InvalidPipeline."""
    return parse(text, syntax or syntax_of(text)).pipeline


def read_schedule(document: object) -> Schedule:
    """Read a schedule in the form in which `Pipeline.schedule` stores it."""
    return _SCHEDULE.validate_python(document)
