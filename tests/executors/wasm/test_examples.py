"""The examples of the documentation: both modules return the same, and the committed one is what its source says."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from executors.wasm import CallModule, check_prepared, inspect_module
from ir.types import ColumnType
from tests.executors.wasm.modules import code

EXAMPLES = Path(__file__).parents[3] / "docs/examples/custom-transforms"
BUILT = EXAMPLES / "assemblyscript/iban_check.wasm"
TEXT = ColumnType("string")
WRONG = "is rejected by the module tested: the check digits of the IBAN are wrong"
NONE = "is rejected by the module tested: this is no IBAN"
IBANS = {
    "GB82 WEST 1234 5698 7654 32": ("GB", None),
    "de89370400440532013000": ("DE", None),
    "FR1420041010050500013M02606": ("FR", None),
    "GB82WEST12345698765433": (None, WRONG),
    "zoë": (None, NONE),
    "": (None, NONE),
    "1234567890123456789": (None, NONE),
    "DE8937040044053201300é": (None, NONE),
    None: (None, None),
}


def call_of(content: bytes, *names: str) -> CallModule:
    given = tuple((name, f"in_{name}", TEXT) for name in names or ["iban"])
    returned = (("country", "country", TEXT),)
    return CallModule("shape", code(content), "{}", (), given, returned, "asked", "rejected", "message")


def check(content: bytes, repeated: int) -> None:
    call, ibans = call_of(content), list(IBANS) * repeated
    check_prepared(call, "shape")
    found = call.run({"in_iban": pa.array(ibans, pa.string()), "asked": pa.array([True] * len(ibans))})
    pairs = list(zip(found["country"].to_pylist(), found["message"].to_pylist(), strict=True))
    assert pairs == list(IBANS.values()) * repeated


def test_the_committed_module_checks_ibans_and_imports_nothing():
    content = BUILT.read_bytes()
    facts = inspect_module("iban-check", content)
    assert (facts.kind, facts.imports) == ("module", ())
    check(content, 1000)


def test_a_module_refuses_columns_that_it_does_not_expect():
    from executors.errors import Terminal

    with pytest.raises(Terminal) as refused:
        check_prepared(call_of(BUILT.read_bytes(), "iban", "other"), "shape")
    assert refused.value.code == "custom.prepare_failed"
    assert "one input is expected, not 2" in refused.value.message


@pytest.fixture
def arrow_texts() -> Any:
    spec = importlib.util.spec_from_file_location("arrow_texts", EXAMPLES / "python/arrow_texts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 500])
def test_the_reader_and_writer_of_the_python_example_agree_with_pyarrow(arrow_texts, rows):
    columns = {"a": [None if n % 3 == 0 else "zoë" * (n % 5) for n in range(rows)], "_error": [None] * rows}
    table = pa.ipc.open_stream(arrow_texts.write_texts(columns)).read_all()
    table.validate(full=True)
    assert table.to_pydict() == columns
    batch = pa.RecordBatch.from_pydict({name: pa.array(texts, pa.string()) for name, texts in columns.items()})
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    assert arrow_texts.read_texts(out.getvalue().to_pybytes()) == columns
    assert pa.ipc.open_stream(arrow_texts.write_schema(["a"])).schema == pa.schema([("a", pa.string())])


@pytest.mark.slow
def test_the_python_example_is_built_and_returns_the_same(tmp_path: Path, run_tool: Callable[..., None]):
    built = tmp_path / "iban_check.wasm"
    wit = ["--wit-path", str(EXAMPLES / "custom.wit"), "--world", "custom"]
    run_tool(*wit, "componentize", "--stub-wasi", "iban_check", "-o", str(built), cwd=EXAMPLES / "python")
    content = built.read_bytes()
    facts = inspect_module("iban-check", content)
    assert (facts.kind, facts.imports, facts.may_use) == ("component", (), ())
    assert facts.sha256 == hashlib.sha256(content).hexdigest()
    check(content, 100)


@pytest.fixture
def run_tool(tmp_path: Path) -> Callable[..., None]:
    """Run componentize-py, from this environment or, if it is not installed, from a new one."""
    python = Path(sys.executable)
    if importlib.util.find_spec("componentize_py") is None:
        subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
        python = tmp_path / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", "componentize-py==0.25.1"], check=True)

    def run(*arguments: str, cwd: Path) -> None:
        tool = "import sys; from componentize_py import script; sys.exit(script())"
        subprocess.run([python, "-B", "-c", tool, *arguments], cwd=cwd, check=True)

    return run
