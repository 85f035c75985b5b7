"""Checks of the executors."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from executors.errors import Terminal
from executors.model import Connection
from executors.secrets import encrypt
from executors.spark import probe

CONNECTION = Connection("warehouse", "127.0.0.1", 5432, "flow", "loader")


def test_executors_like_ours_pass(spark: SparkSession) -> None:
    probe.probe_cluster(spark, encrypt(CONNECTION))


def test_what_is_missing_is_named(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "NEEDED", ("pyarrow", "no_such_package"))
    with pytest.raises(Terminal) as caught:
        probe.probe_cluster(spark)
    assert caught.value.code == "spark.executor_lacks"
    assert "no_such_package" in caught.value.message
    assert "pyarrow" not in caught.value.message


def test_executors_with_another_key_are_found_out(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    # Encrypted with a key that the tasks do not have, because they started before.
    monkeypatch.setenv("FLOW_ENCRYPTION_KEYS", "bm90IHRoZSBrZXkgdGhhdCBzZWFsZWQgYW55dGhpbmc=")
    with pytest.raises(Terminal) as caught:
        probe.probe_cluster(spark, encrypt(CONNECTION))
    assert caught.value.code == "secrets.key_wrong"


def test_warming_up_may_be_repeated(spark: SparkSession) -> None:
    probe.warm_workers(spark)
    probe.warm_workers(spark)
