"""The translation of errors from tasks to the caller of the run."""

from __future__ import annotations

import pyarrow as pa
import pytest
from grpc import StatusCode  # type: ignore[import-untyped]
from py4j.protocol import ERROR, get_return_value  # type: ignore[import-untyped]
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from executors.errors import ExpressionFailed, Failure, TargetBusy, Terminal, Transient
from executors.spark.compiled import Expression
from executors.spark.errors import marking, translate


def failure(spark: SparkSession, task: object) -> Failure:
    with pytest.raises(Failure) as caught, translate("load"):
        spark.range(0, 1, 1, 1).mapInArrow(task, "x long").collect()  # type: ignore[arg-type]
    return caught.value


@pytest.mark.parametrize("kind", [Transient, Terminal, TargetBusy])
def test_a_failure_inside_a_task_comes_back_as_itself(spark: SparkSession, kind: type[Failure]) -> None:
    def task(batches):  # type: ignore[no-untyped-def]
        with marking():
            raise kind("source.changed", 'file "ä.csv"\n\\ changed', hint="Run <again>.", node="orders")
        yield from batches

    error = failure(spark, task)
    assert type(error) is kind
    assert error.to_json() == {
        "code": "source.changed",
        "message": 'file "ä.csv"\n\\ changed',
        "hint": "Run <again>.",
        "node": "orders",
    }


def test_another_error_inside_a_task_says_what_and_where_but_no_value(spark: SparkSession) -> None:
    def task(batches):  # type: ignore[no-untyped-def]
        int("secret 42")
        yield from batches

    error = failure(spark, task)
    assert (type(error), error.code, error.node) == (Terminal, "spark.failed", "load")
    assert "ValueError at test_errors.py" in error.message
    assert "secret" not in error.message


def test_a_missing_package_is_named(spark: SparkSession) -> None:
    def task(batches):  # type: ignore[no-untyped-def]
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401

        yield from batches

    error = failure(spark, task)
    assert error.code == "spark.executor_lacks"
    assert "'no_such_package'" in error.message


def test_a_worker_that_dies_may_be_tried_again(spark: SparkSession) -> None:
    def task(batches):  # type: ignore[no-untyped-def]
        import os

        os._exit(9)
        yield from batches

    error = failure(spark, task)
    assert (type(error), error.code) == (Transient, "spark.worker_lost")


def test_no_value_is_written_to_the_log(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Terminal), translate():
        spark.range(1).selectExpr("cast(concat('secret', id) as int)").collect()
    out, err = capfd.readouterr()
    assert "secret" not in out + err


def test_a_column_is_reported_only_if_it_is_certain_which_one_failed(spark: SparkSession) -> None:
    one, other = (Expression("shape", "derive (op 1)", "1 / n", "1 / id", column) for column in ("a", "b"))
    for expressions, column in (([one], "a"), ([one, other], None)):
        with pytest.raises(ExpressionFailed) as failed, translate("load", expressions):
            spark.range(1).selectExpr("1 / id").collect()
        assert (failed.value.column, failed.value.node, failed.value.why) == (column, "shape", "DIVIDE_BY_ZERO")


def test_a_java_process_that_went_away_is_no_fault_of_the_run() -> None:
    """py4j turns a connection that fails during a call into an answer without content."""
    with pytest.raises(Failure) as lost, translate("load"):
        get_return_value(ERROR, None, "o55", "collectToPython")
    assert (type(lost.value), lost.value.code) == (Transient, "spark.lost")


@pytest.mark.parametrize("status", [StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED])
def test_a_server_that_does_not_answer_is_named_without_the_token_of_its_address(
    monkeypatch: pytest.MonkeyPatch, status: StatusCode
) -> None:
    monkeypatch.setenv("FLOW_SPARK_REMOTE", "sc://spark.example:15002/;token=secret")
    with pytest.raises(Failure) as lost, translate("load"):
        raise SparkConnectGrpcException("It said something.", grpc_status_code=status)
    assert (type(lost.value), lost.value.code) == (Transient, "spark.unreachable")
    assert "sc://spark.example:15002 does" in lost.value.message


def test_what_a_task_says_of_a_service_of_its_own_is_not_taken_for_spark_s() -> None:
    with pytest.raises(Failure) as failed, translate("load"):
        raise SparkConnectGrpcException("ServiceException: 503 UNAVAILABLE", grpc_status_code=StatusCode.INTERNAL)
    assert failed.value.code == "spark.failed"


def test_other_errors_pass_as_they_are(spark: SparkSession) -> None:
    with pytest.raises(pa.ArrowInvalid), translate():
        raise pa.ArrowInvalid("ours")
