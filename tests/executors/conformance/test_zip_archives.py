"""Runs that read ZIP archives: each file in an archive is loaded once by its content, and the archive is claimed and
archived as a whole."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from executors.discarding import ClaimedFile, archive_discarded
from executors.errors import InvalidContent, Terminal, Transient
from executors.formats.small_files import SMALL_BYTES
from executors.runs.sample import sample_pipeline
from ir.nodes import Source
from tests.executors.conformance.test_node_previews import preview
from tests.executors.conformance.world import World, reconciles
from tests.executors.formats.zips import packed

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

ANN, BOB, CID, DAN = (f"id,name\n{n},{name}\n".encode() for n, name in enumerate(("Ann", "Bob", "Cid", "Dan"), 1))
ZIPS = {"pattern": {"type": "glob", "value": "*.zip"}}


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    """Return a pipeline that reads archives in place, and loads numbers and names into a table."""
    world.sql("create table t (id int, name text)")
    return world.document(source=ZIPS)


@pytest.fixture
def moving(world: World) -> dict[str, Any]:
    """Return the same pipeline, which claims and archives what it reads."""
    world.sql("create table t (id int, name text)")
    return world.document(source={**ZIPS, "atomicity": dict(world.storage.atomicity)})


def names(world: World) -> list[str]:
    return [name for (name,) in world.sql("select name from t order by id")]


@pytest.mark.every_connector
def test_each_file_in_an_archive_is_a_load_unit(world: World, document: dict[str, Any]) -> None:
    world.write("a.zip", packed({"one.csv": ANN, "sub/two.csv": BOB}))
    report = world.run(document)
    assert names(world) == ["Ann", "Bob"]
    assert sorted(world.memory.states.values()) == ["committed", "committed"]
    assert reconciles(report)


def test_a_later_archive_loads_only_what_is_new(world: World, document: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "2.csv": BOB, "3.csv": CID}))
    world.run(document)
    world.write("b.zip", packed({"1.csv": ANN, "2.csv": BOB, "3.csv": CID, "4.csv": DAN}, method=0))
    world.run(document)
    assert names(world) == ["Ann", "Bob", "Cid", "Dan"]


def test_the_same_content_outside_an_archive_is_loaded_once(world: World, document: dict[str, Any]) -> None:
    document = world.document(source={"pattern": {"type": "glob", "value": "*"}})
    world.write("a.csv", ANN)
    world.write("b.zip", packed({"x.csv": ANN, "y.csv": BOB}))
    world.run(document)
    assert names(world) == ["Ann", "Bob"]


@pytest.mark.every_connector
@pytest.mark.moves_files
def test_an_archive_is_archived_as_a_whole(world: World, moving: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "2.csv": BOB, "copy of 1.csv": ANN}))
    world.run(moving)
    assert names(world) == ["Ann", "Bob"]
    assert not world.storage.exists("a.zip")
    assert world.storage.exists(".done/a.zip")


@pytest.mark.moves_files
def test_an_archive_of_files_that_are_loaded_is_archived(world: World, moving: dict[str, Any]) -> None:
    for name in ("a.zip", "b.zip"):
        world.write(name, packed({"1.csv": ANN, "2.csv": BOB}))
        world.run(moving)
    assert (names(world), world.storage.exists(".done/b.zip")) == (["Ann", "Bob"], True)


@pytest.mark.every_connector
@pytest.mark.moves_files
def test_an_archive_with_a_damaged_file_fails_as_a_whole(world: World, moving: dict[str, Any]) -> None:
    whole = packed({"1.csv": ANN, "2.csv": BOB}, method=0)
    world.write("a.zip", whole.replace(b"Bob", b"Bub"))
    with pytest.raises(InvalidContent, match=r"a\.zip/2\.csv"):
        world.run(moving)
    assert names(world) == []
    assert world.storage.exists(".failed/a.zip")
    assert world.memory.failed_names == {world.shown("a.zip"), world.shown("a.zip/1.csv")}


@pytest.mark.moves_files
def test_an_archive_that_cannot_be_listed_fails_itself(world: World, moving: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN})[:-5])
    with pytest.raises(InvalidContent, match=r"^source\.malformed"):
        world.run(moving)
    assert world.storage.exists(".failed/a.zip")
    assert world.memory.failed_names == {world.shown("a.zip")}


def test_an_archive_without_matching_files_is_refused_with_the_setting_that_finds_them(
    world: World, document: dict[str, Any]
) -> None:
    world.write("a.zip", packed({"data.txt": ANN}))
    with pytest.raises(InvalidContent, match=r"^source\.no_members"):
        world.run(document)
    world.run(world.document(source={**ZIPS, "members": {"type": "glob", "value": "*.txt"}}))
    assert names(world) == ["Ann"]


def test_files_that_are_not_read_cause_a_warning(world: World, document: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "readme.md": b"x"}))
    report = world.run(document)
    (warning,) = [one for one in report.warnings if one.code == "file.members_not_read"]
    assert "readme.md" in warning.message
    assert "Set members to a pattern" in warning.message


def test_files_outside_a_pattern_of_members_are_only_logged(world: World) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "README.txt": b"x"}))
    report = world.run(world.document(source={**ZIPS, "members": {"type": "glob", "value": "*.csv"}}))
    assert report.warnings == []
    assert any("README.txt" in line for line in world.memory.lines)


@pytest.mark.every_connector
def test_an_archive_that_is_replaced_during_a_run_loads_nothing(world: World) -> None:
    world.sql("create table t (id int, name text)")
    document = world.document(source=ZIPS)
    # A small file of a store is loaded as it was scanned, so a large one must be replaced.
    world.write("a.zip", packed({"1.csv": ANN + b"5,%s\n" % bytes(SMALL_BYTES).replace(b"\0", b"x")}))
    replaced: list[str] = []

    def replace(step: str, node: str | None) -> None:
        if step == "pass" and not replaced:
            replaced.append(step)
            world.write("a.zip", packed({"1.csv": BOB}))

    world.memory.on_step = replace
    with pytest.raises(Transient, match=r"^source\.changed"):
        world.run(document)
    assert names(world) == []
    world.run(document)
    assert names(world) == ["Bob"]


@pytest.mark.moves_files
@pytest.mark.parametrize("step", ["scan", "pass", "load"])
def test_an_archive_of_a_dead_attempt_is_taken_up(world: World, moving: dict[str, Any], step: str) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "2.csv": BOB}))

    class PowerCut(BaseException):
        pass

    def die(at: str, node: str | None) -> None:
        if at == step:
            raise PowerCut

    world.memory.on_step = die
    with pytest.raises(PowerCut):
        world.run(moving)
    world.memory.on_step = lambda step, node: None
    world.run(moving)
    assert (names(world), world.storage.exists(".done/a.zip")) == (["Ann", "Bob"], True)


@pytest.mark.moves_files
def test_an_archive_of_a_worker_that_died_after_the_commit_is_put_away(world: World, moving: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "2.csv": BOB}))
    run_id = str(uuid.uuid4())

    class PowerCut(BaseException):
        pass

    def cut(commit: object) -> None:
        raise PowerCut

    world.memory.on_committed = cut
    with pytest.raises(PowerCut):
        world.run(moving, run_id=run_id)
    assert world.storage.claimed("a.zip")
    world.memory.on_committed = lambda commit: None
    world.run(moving, run_id=run_id, attempt=2)
    assert (names(world), world.storage.exists(".done/a.zip")) == (["Ann", "Bob"], True)


@pytest.mark.moves_files
def test_an_archive_of_a_load_that_is_discarded_is_put_away(world: World, moving: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN}))
    world.memory.on_step = lambda step, node: None if step != "pass" else die()

    class PowerCut(BaseException):
        pass

    def die() -> None:
        raise PowerCut

    with pytest.raises(PowerCut):
        world.run(moving)
    job = world.job(moving)
    (source,) = (node for node in job.pipeline.nodes if isinstance(node, Source))
    staged = {ClaimedFile(world.shown("a.zip/1.csv"), len(ANN), time_of(world, "a.zip"))}
    archive_discarded(job.pipeline, world.tenant, source, world.folder, world.storage.connection, staged)
    assert world.storage.exists(".failed/a.zip")


def time_of(world: World, name: str) -> int:
    (path,) = world.claimed(name)
    return path.stat().st_mtime_ns


def test_a_format_that_is_no_text_reads_no_archive(world: World, document: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.parquet": b"PAR1"}))
    with pytest.raises(Terminal):
        world.run(world.document(source={**ZIPS, "format": {"type": "parquet"}}))


def test_members_of_a_reference_that_are_not_read_are_reported(world: World) -> None:
    world.create_table("create table u (id int, k int, name text)")
    world.write("a.csv", b"id,k\n10,1\n")
    (world.folder / "ref").mkdir()
    (world.folder / "ref" / "names.zip").write_bytes(packed({"one.csv": ANN, "two.txt": BOB}))
    columns = [{"name": "id", "type": "integer"}, {"name": "k", "type": "integer"}]
    made = world.document(table="u", columns=columns)
    reference = json.loads(json.dumps(made["nodes"][0])) | {"id": "ref", "columns": columns[:1]}
    reference["config"] |= {"path": "ref/", "pattern": {"type": "glob", "value": "*.zip"}}
    join = {"op": "join", "with": "ref", "type": "left", "on": {"k": "id"}, "columns": {"name": "name"}}
    shape = {"id": "shape", "kind": "transform", "inputs": ["src", "ref"], "ops": [join]}
    made["nodes"][1:1] = [reference, shape]
    made["nodes"][3]["inputs"] = ["shape"]
    report = world.run(made)
    assert [(one.code, one.node) for one in report.warnings] == [("file.members_not_read", "ref")]


def test_previews_and_samples_name_the_files_that_they_do_not_read(world: World, document: dict[str, Any]) -> None:
    world.write("a.zip", packed({"1.csv": ANN, "notes.pdf": b"x"}))
    shown = preview(world, document, "load")
    assert any("notes.pdf" in note for note in shown.notes)
    report = sample_pipeline(world.job(document), world.memory.ports())
    assert [one.code for one in report.warnings] == ["file.members_not_read"]
