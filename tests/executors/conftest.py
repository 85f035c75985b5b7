"""One Spark application for all tests of a run; it costs seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from cryptography.fernet import Fernet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from executors.spark.session import RunSession


@pytest.fixture(scope="session")
def encryption_keys() -> str:
    """Keys in the environment, before the JVM that hands it on to the tasks is started.

    FLOW_TEST_ENCRYPTION_KEYS are those of a Spark that was started elsewhere.
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
    """The application's session, warm."""
    from executors.spark import session

    yield session.get_session("inline")
    session.stop_session()
