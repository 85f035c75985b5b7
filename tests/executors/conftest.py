"""One Spark application for all tests of a run, which takes seconds to start; which cases of matrices are fast."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from cryptography.fernet import Fernet

from tests.tiers import mark_slow_but_one, name_of, one_each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from executors.spark.session import RunSession


ONE_FAST_CASE = {"conformance", "test_from_table_to_table.py"}
"""Folders and files whose tests have one fast case each: every case is a run of its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with several cases, such as load modes, one is fast. Some cases of matrices do not run, see
    docs/development/faults.md."""
    functions = [item for item in items if isinstance(item, pytest.Function) and hasattr(item, "callspec")]
    left_out = {
        *one_each(filter(_is_mode_of_store, functions), "mode", "destination"),
        *one_each(filter(_loses_connection, functions), "fault"),
    }
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    here = (
        item
        for item in items
        if isinstance(item, pytest.Function) and {item.path.parent.name, item.path.name} & ONE_FAST_CASE
    )
    mark_slow_but_one(here, lambda item: item.originalname)


def _is_mode_of_store(item: pytest.Function) -> bool:
    params = item.callspec.params
    return "mode" in params and params.get("storage", "local_fs") != "local_fs"


def _loses_connection(item: pytest.Function) -> bool:
    return name_of(item.callspec.params.get("fault")) in ("session_ended", "connection_cut")


@pytest.fixture(scope="session")
def encryption_keys() -> str:
    """Set the encryption keys in the environment, before the JVM starts and passes them to tasks.
    FLOW_TEST_ENCRYPTION_KEYS are the keys of a remote Spark.
    """
    if elsewhere := os.environ.get("FLOW_TEST_ENCRYPTION_KEYS"):
        os.environ["FLOW_ENCRYPTION_KEYS"] = elsewhere
    return os.environ.setdefault("FLOW_ENCRYPTION_KEYS", Fernet.generate_key().decode())


@pytest.fixture
def run_session(spark: SparkSession) -> Iterator[RunSession]:
    """A session of a run."""
    from executors.spark.session import RunSession

    with RunSession() as session:
        yield session


@pytest.fixture(scope="session")
def spark(encryption_keys: str) -> Iterator[SparkSession]:
    """The application's session, warm. Each file of a test has a task of its own, as large files have."""
    from executors.spark import one_pass, session

    one_pass.ROWS_PER_TASK = 1
    yield session.get_session("inline")
    session.stop_session()
