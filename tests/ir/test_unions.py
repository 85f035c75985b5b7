"""Documents that unite rows: their paths, the lineage of their columns, and drafts that are not finished."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ir import parsePipelineIR
from ir.diagnostics import InvalidPipeline
from ir.lineage import lineages_of
from ir.pipeline import Pipeline
from tests.ir.cases import FOLDER


def document() -> dict[str, Any]:
    """shops and web → named, united in `all`, which leads to the target `load`."""
    found: dict[str, Any] = json.loads((FOLDER / "valid" / "union.json").read_text())
    return found


def united() -> Pipeline:
    return parsePipelineIR(document()).pipeline


def codes(made: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidPipeline) as invalid:
        parsePipelineIR(made)
    return sorted({found.code for found in invalid.value.diagnostics})


def test_a_target_has_a_path_from_each_source() -> None:
    pipeline = united()
    (target,) = pipeline.targets()
    paths = pipeline.paths_to(target)
    chains = [(path.source.id, [node.id for node in path.transforms]) for path in paths]
    assert chains == [("shops", ["all"]), ("web", ["named", "all"])]
    assert [path.own_nodes for path in paths] == [{"shops"}, {"web", "named"}]
    assert [source.id for source in pipeline.sources_of(target)] == ["shops", "web"]
    assert pipeline.path_to(target).source.id == "shops"


def test_a_column_comes_from_a_column_of_each_source() -> None:
    found = {one.source: one.columns["id"].sources for one in lineages_of(united())}
    assert found == {"shops": ("id",), "web": ("number",)}


def test_a_path_alone_has_no_nodes_of_its_own() -> None:
    pipeline = parsePipelineIR(json.loads((FOLDER / "valid" / "join.json").read_text())).pipeline
    (path,) = pipeline.paths_to(pipeline.targets()[0])
    assert path.own_nodes == frozenset()


def test_a_union_of_itself_is_a_cycle() -> None:
    made = document()
    made["nodes"][3]["inputs"].append("all")
    assert "graph.cycle" in codes(made)


def test_an_input_that_does_not_exist_is_the_only_error() -> None:
    made = document()
    made["nodes"][3]["inputs"][1] = "nobody"
    assert [code for code in codes(made) if code.startswith(("union", "inputs"))] == ["inputs.unknown"]


def test_unions_of_unions_are_read_once_each() -> None:
    """The number of paths would double with each union; the document is refused within its budget."""
    made = document()
    made["nodes"] = made["nodes"][:3]
    for number in range(60):
        above = ["shops", "named"] if not number else [f"a{number - 1}", f"b{number - 1}"]
        for letter in "ab":
            ops = [{"op": "union"}]
            made["nodes"].append({"id": f"{letter}{number}", "kind": "transform", "inputs": above, "ops": ops})
    made["nodes"].append({**document()["nodes"][4], "inputs": ["a59"]})
    assert "union.nested" in codes(made)


def test_a_fix_moves_the_union_to_the_front() -> None:
    made = document()
    made["nodes"][3]["ops"].reverse()
    with pytest.raises(InvalidPipeline) as invalid:
        parsePipelineIR(made)
    (found,) = invalid.value.diagnostics
    assert found.fixes == ([{"op": "move", "from": "/nodes/3/ops/1", "path": "/nodes/3/ops/0"}],)
