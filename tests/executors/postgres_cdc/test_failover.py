"""A source that has become another server: nothing is read on until a person has approved a new snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from executors.model import Connection
from tests.executors.postgres_cdc.mirror import Mirror
from tests.executors.postgres_cdc.test_refusals import TABLE, forget, refusal
from tests.logical_server import logical_server

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow]


@pytest.mark.parametrize("version", [18, 15])
@pytest.mark.parametrize("is_copy", [True, False], ids=["restored", "another"])
def test_a_mirror_follows_another_history_only_after_a_new_snapshot(
    tmp_path: Path, warehouse: Connection, schema: str, spark: object, is_copy: bool, version: int
) -> None:
    with logical_server(version) as first:
        mirror = Mirror(tmp_path, warehouse, schema, source=first.connection)
        mirror.at_source(TABLE)
        mirror.follow()
        first.stop()
        with logical_server(version, first if is_copy else None) as second:
            mirror.source = second.connection
            mirror.at_source("insert into s values (3, 'c')" if is_copy else TABLE)
            failure = refusal(mirror)
            assert failure.code == "cdc.source_changed"
            assert "flow run --load-again" in str(failure.hint)
            with mirror.session() as connection:
                publications = connection.execute("select count(*) from pg_publication").fetchone()
            assert publications == (int(is_copy),)
            forget(mirror)
            mirror.follow()
            mirror.at_source("update s set name = 'x' where id = 1")
            assert mirror.follow().rows_updated == 1
            assert mirror.difference() == []
