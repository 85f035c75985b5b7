"""The one place where Spark's errors become ours, and where our own errors cross from tasks to the driver."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import PySparkRuntimeError

from executors import errors
from executors.errors import Cancelled, Failure, Terminal, Transient
from ir.errors import FlowError

_FAILURES: dict[str, type[Failure]] = {
    kind.__name__: kind for kind in (Transient, Terminal, Cancelled, errors.LeaseLost, errors.TargetBusy)
}
_MARKED = re.compile(r"<flow-failure>(.*?)</flow-failure>")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit))\b", re.MULTILINE)
_PYTHON_PLACE = re.compile(r'File "([^"]+)", line (\d+)')

DATA_CONDITIONS = frozenset(
    """ARITHMETIC_OVERFLOW BINARY_ARITHMETIC_OVERFLOW CANNOT_PARSE_TIMESTAMP CANNOT_PARSE_TIME CAST_INVALID_INPUT
    CAST_OVERFLOW CONVERSION_INVALID_INPUT DATETIME_FIELD_OUT_OF_BOUNDS DATETIME_OVERFLOW DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION
    DIVIDE_BY_ZERO INTERVAL_ARITHMETIC_OVERFLOW INTERVAL_DIVIDED_BY_ZERO INVALID_ARRAY_INDEX
    INVALID_ARRAY_INDEX_IN_ELEMENT_AT INVALID_FRACTION_OF_SECOND INVALID_INDEX_OF_ZERO INVALID_PARAMETER_VALUE
    MAP_KEY_DOES_NOT_EXIST NULL_MAP_KEY NUMERIC_VALUE_OUT_OF_RANGE REMAINDER_BY_ZERO""".split()
)
"""Conditions that say: an expression met a value that it cannot take (SQLSTATE class 22)."""

_LOST = ("Answer from Java side is empty", "Error while sending or receiving", "UNAVAILABLE", "Connection refused",
         "stopped SparkContext", "SparkContext has been shut down", "SparkContext was shut down", "NO_ACTIVE_SESSION",
         "JAVA_GATEWAY_EXITED", "SESSION_CLOSED", "SESSION_NOT_FOUND", "SESSION_CHANGED")  # fmt: skip
_CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "OPERATION_CANCELLED", "was cancelled", "cancelled part of")
_WORKER_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back")


@contextmanager
def marking() -> Iterator[None]:
    """Wrapped around a task: our errors leave it as text that `translate` can read at the driver."""
    try:
        yield
    except FlowError as error:
        kind = type(error).__name__
        raise RuntimeError(f"<flow-failure>{json.dumps({'kind': kind, **error.to_json()})}</flow-failure>") from None


@contextmanager
def translate(node: str | None = None) -> Iterator[None]:
    """Wrapped around whatever talks to Spark.

    A failure of ours inside a task comes back as itself. Else: `spark.lost` (Transient) when JVM, server or session is
    gone, `spark.worker_lost` (Transient), Cancelled `spark.interrupted`, `expression.failed` (Terminal, names the
    condition only) for values that an expression cannot take, `spark.failed` (Terminal) for the rest. Row values that
    Spark or Python put in their messages are left behind.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise failure_of(error, node) from None
    except Exception as error:
        # gRPC's own errors share no base with Spark's, and grpc is not imported unless Connect is used.
        if type(error).__module__.partition(".")[0] not in ("grpc", "py4j"):
            raise
        raise failure_of(error, node) from None


def failure_of(error: BaseException, node: str | None = None) -> Failure:
    """The failure that an error of pyspark, py4j or gRPC stands for."""
    text = str(error)
    if marked := _MARKED.search(text):
        return _decode(marked[1])
    if any(sign in text for sign in _CANCELLED):
        return Cancelled("spark.interrupted", "The run's Spark work was interrupted.", node=node)
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)) or any(sign in text for sign in _LOST):
        return Transient(
            "spark.lost", "Spark went away while the run was using it.", node=node,
            hint="The run is tried again; if this repeats, look at the memory of the worker's machine.",
        )  # fmt: skip
    if any(sign in text for sign in _WORKER_LOST):
        return Transient(
            "spark.worker_lost", "A Python worker of Spark died while it worked on the run.", node=node,
            hint="Most often its machine ran out of memory.",
        )  # fmt: skip
    return _expression_failure(error, text, node) or _unknown_failure(error, text, node)


def data_condition(error: BaseException) -> str | None:
    """The condition (`DIVIDE_BY_ZERO` …) if the error says that an expression met a value that it cannot take."""
    named = [error.getCondition() or ""] if isinstance(error, PySparkException) else []
    for condition in [*named, *_CONDITION.findall(str(error))]:
        if condition.partition(".")[0] in DATA_CONDITIONS:
            return condition
    return None


def _expression_failure(error: BaseException, text: str, node: str | None) -> Terminal | None:
    condition = data_condition(error)
    if condition is None:
        return None
    return Terminal(
        "expression.failed", f"An expression failed on a row of the data: {condition}.", node=node,
        hint="Guard the expression, for example with nullif(b, 0), try_divide, try_cast or a filter before it.",
    )  # fmt: skip


def _unknown_failure(error: BaseException, text: str, node: str | None) -> Terminal:
    """Says the kind of error and where in Python it arose; messages and tracebacks may hold row values."""
    kinds, places = _PYTHON_ERROR.findall(text), _PYTHON_PLACE.findall(text)
    what = kinds[-1] if kinds else (_CONDITION.findall(text) or [type(error).__name__])[0]
    where = f" at {places[-1][0].rpartition('/')[2]}, line {places[-1][1]}" if places else ""
    return Terminal(
        "spark.failed", f"Spark could not do the run's work: {what}{where}.", node=node,
        hint="Nothing was loaded. Please report this with the pipeline.",
    )  # fmt: skip


def _decode(text: str) -> Failure:
    # Spark Connect and Java may escape the message once more on its way.
    values = json.loads(text if text.startswith('{"') else text.replace('\\"', '"').replace("\\\\", "\\"))
    kind = _FAILURES.get(values["kind"], Terminal)
    return kind(values["code"], values["message"], hint=values["hint"], node=values["node"])


__all__ = ["PySparkRuntimeError", "data_condition", "failure_of", "marking", "translate"]
