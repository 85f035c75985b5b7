"""The tables of connectors in `ir` and `executors` have the same names and kinds."""

from __future__ import annotations

from importlib import import_module

import pytest

from executors.sources import SOURCES, load_file_source, load_snapshot_source
from executors.sources.base import Claimant, FileSource, SnapshotSource, SourceContext
from ir.connectors import CONNECTORS
from ir.connectors.files import FilesConfig
from ir.nodes import Source
from ir.not_yet import NOT_YET

KINDS = {"files": FileSource, "snapshot": SnapshotSource}


def test_every_connector_that_is_available_can_run() -> None:
    assert set(SOURCES) == {name for name in CONNECTORS if ("source connector", name) not in NOT_YET}


@pytest.mark.parametrize("name", SOURCES)
def test_a_connector_reads_what_it_declares(name: str) -> None:
    module, _, handler = SOURCES[name].partition(":")
    connector = CONNECTORS[name]
    assert issubclass(getattr(import_module(module), handler), KINDS[connector.reads])
    assert connector.config is not None
    assert issubclass(connector.config, FilesConfig) == (connector.reads == "files")
    assert connector.starts_with


def test_a_source_of_one_kind_is_not_loaded_as_the_other(tmp_path) -> None:
    config = {"path": "", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}}
    files = Source(id="src", kind="source", connector="local_fs", config=config)
    context = SourceContext(tmp_path, Claimant("orders", frozenset()))
    assert load_file_source(files, context).node == "src"
    with pytest.raises(TypeError, match="reads no rows of a database"):
        load_snapshot_source(files, context)
