"""Find out whether the next run of a pipeline would load a file, quickly enough for a page."""

from __future__ import annotations

from django.conf import settings

from executors.api import peek_files
from executors.errors import Failure
from executors.model import SourceFile
from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import DONE, LoadUnit
from flowapp.runs.load_units.selectors import is_to_be_loaded_again
from flowapp.runs.load_units.services import has_gone_back
from ir.nodes import Source
from ir.pipeline import Pipeline as Document


def has_loaded_all(pipeline: Pipeline, document: Document) -> bool:
    """Return whether all files of the document's sources have been loaded. False if that is unknown: runs compare
    contents, but pages only compare names, sizes and times."""
    if has_gone_back(pipeline):
        return False
    folder = settings.FILES_ROOT / pipeline.workspace.slug
    try:
        found = [peek_files(source, folder) for source in _sources_of(document)]
    except (Failure, OSError, ValueError):
        return False
    return bool(found) and all(files and _are_loaded(pipeline, files) for files in found)


def _sources_of(document: Document) -> list[Source]:
    return [node for node in document.nodes if isinstance(node, Source)]


def _are_loaded(pipeline: Pipeline, files: tuple[SourceFile, ...]) -> bool:
    named = LoadUnit.objects.filter(pipeline=pipeline, state__in=DONE, name__in=[f.name for f in files])
    loaded = {(unit.name, unit.size, unit.mtime_ns) for unit in named.select_related("run") if _counts(pipeline, unit)}
    return all((file.name, file.size, file.mtime_ns) in loaded for file in files)


def _counts(pipeline: Pipeline, unit: LoadUnit) -> bool:
    """Return whether no user has requested to load the file again."""
    if is_to_be_loaded_again(unit):
        return False
    forgotten = pipeline.forgotten_token
    return forgotten is None or (unit.run is not None and unit.run.token > forgotten)
