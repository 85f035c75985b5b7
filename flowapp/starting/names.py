"""Propose names from a file's path: of the table, the folder and the pipeline."""

from __future__ import annotations

import re
from collections.abc import Container

from flowapp.accounts.models import Workspace
from flowapp.editor.forms import slug_of
from flowapp.pipelines.models import Pipeline
from flowapp.uploads.folder import list_folder
from flowapp.uploads.selectors import list_read_folders
from ir.names import MAX_BYTES

_PERIOD = re.compile(r"(?:[-_. ]*(?<![^\W\d_])[QHqh][1-4](?!\d)|[-_. ]*\d+)+$")
"""The part of a name that differs between the files of one folder: a date, a quarter or a number."""
_OTHER = re.compile(r"[\W_]+", re.ASCII)
_TRANSLITERATED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def table_name(path: str) -> str:
    """Return a table name: `in/Orders-2026-01.csv` becomes `orders`. A file whose name is only a date gets the name of
    its folder."""
    folder, _, name = path.rpartition("/")
    for text in (name.rpartition(".")[0] or name, folder.rpartition("/")[2]):
        plain = _OTHER.sub("_", _PERIOD.sub("", text).lower().translate(_TRANSLITERATED)).strip("_")
        if plain and not plain[0].isdigit():
            return plain[:MAX_BYTES]
    return "data"


def title(table: str) -> str:
    return table.replace("_", " ").capitalize()


def free_folder(workspace: Workspace, file: str) -> str:
    """Return a folder of the workspace for the files of a new pipeline that neither exists nor is read by another
    pipeline."""
    taken = {*list_folder(workspace, "").folders, *list_read_folders(workspace)}
    return free_name(table_name(file), taken, "_")


def free_slug(workspace: Workspace, name: str) -> str:
    """Return an id for a new pipeline of that name; "" if the name has no usable letter."""
    base = slug_of(name)
    if not base:
        return ""
    taken = set(Pipeline.objects.filter(workspace=workspace, slug__startswith=base).values_list("slug", flat=True))
    return free_name(base, taken, "-")


def free_name(base: str, taken: Container[str], between: str) -> str:
    """Return the name, with the lowest number that makes it unique if it is taken."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base[: MAX_BYTES - 5]}{between}{number}"
    return name
