"""Translates errors of Spark to Failures, and passes Failures from tasks to the driver."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import AnalysisException, PySparkException

from executors.errors import (
    Cancelled,
    ExpressionFailed,
    Failure,
    InvalidContent,
    LeaseLost,
    TargetBusy,
    Terminal,
    Transient,
)
from executors.spark.address import server_name
from executors.spark.compiled import Expression
from ir.errors import FlowError

# pyspark writes every error to standard error as JSON. Its messages contain values of rows.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
logging.getLogger("py4j").setLevel(logging.ERROR)

_FAILURES = {kind.__name__: kind for kind in (Transient, Terminal, InvalidContent, Cancelled, LeaseLost, TargetBusy)}
_FAILURE_TAG = re.compile(r"<flow-failure>([0-9a-f]+)</flow-failure>")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_DATA_STATE = re.compile(r"SQLSTATE: (?:22\w{3}|P0001)|\[INVALID_FORMAT\.MISMATCH_INPUT\]")
_FRAGMENT = re.compile(r"== SQL \(line \d+, position \d+\) ==\n(.*)\n( *)(\^+)")
"""A line of SQL, perhaps truncated at its ends, and the underlined part of it."""
_PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit))\b", re.MULTILINE)
_PYTHON_POSITION = re.compile(r'File "([^"]+)", line (\d+)')
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")

_CANCELLED = ("SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "OPERATION_CANCELLED", "was cancelled", "cancelled part of")
_LOST = (
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "Connection refused",
    "stopped SparkContext",
    "SparkContext has been shut down",
    "SparkContext was shut down",
    "NO_ACTIVE_SESSION",
    "JAVA_GATEWAY_EXITED",
    "SESSION_CLOSED",
    "SESSION_NOT_FOUND",
    "SESSION_CHANGED",
)
_NO_SERVER = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
"""The gRPC status codes for a server that does not answer."""
# The whole message of py4j when the JVM stopped before it answered. Other messages quote the answer.
_NO_ANSWER = re.compile(r"An error occurred while calling \S+\s*\Z")
_WORKER_LOST = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back")


@contextmanager
def marking() -> Iterator[None]:
    """Encode a Failure that the body raises in a task as text that `translate` decodes on the driver."""
    try:
        yield
    except FlowError as error:
        detail = getattr(error, "encrypted_detail", "")
        values = json.dumps({"kind": type(error).__name__, **error.to_json(), "detail": detail})
        # Base 16: Java, gRPC and Spark each escape and quote messages in ways of their own.
        raise RuntimeError(f"<flow-failure>{values.encode().hex()}</flow-failure>") from None


def interrupted(node: str | None = None) -> Cancelled:
    return Cancelled("spark.interrupted", "The run's Spark work was interrupted.", node=node)


@contextmanager
def translate(node: str | None = None, expressions: Sequence[Expression] = ()) -> Iterator[None]:
    """Translate the errors of Spark that the body raises to Failures.

    A Failure of a task is raised again. Other errors become: Transient `spark.lost` if the JVM or the session has
    ended; Transient `spark.unreachable` if a remote server does not answer; Transient `spark.worker_lost`; Cancelled
    `spark.interrupted`; ExpressionFailed `expression.failed` for values for which one of the expressions fails;
    Terminal `spark.executor_lacks`; and Terminal `spark.failed` for all others. Values of rows in the messages of Spark
    or Python are removed.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise failure_of(error, node, expressions) from None
    except Exception as error:
        # gRPC's errors have no base class in common with Spark's, and grpc is only imported with Spark Connect.
        if type(error).__module__.partition(".")[0] != "grpc":
            raise
        raise failure_of(error, node, expressions) from None


@contextmanager
def analysing(node: str, location: str, text: str, hint: str) -> Iterator[None]:
    """Translate an error in the analysis of one expression to Terminal `expression.invalid`."""
    try:
        yield
    except AnalysisException as error:
        raise Terminal(
            "expression.invalid", f"{location}: Spark refuses {text!r}: {error.getCondition()}.", node=node, hint=hint
        ) from None
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise failure_of(error, node) from None


def failure_of(error: BaseException, node: str | None = None, expressions: Sequence[Expression] = ()) -> Failure:
    """Return the Failure for an error of pyspark, py4j or gRPC."""
    text = str(error)
    if tagged := _FAILURE_TAG.search(text):
        return _unmark(tagged[1])
    if any(sign in text for sign in _CANCELLED):
        return interrupted(node)
    if _grpc_status(error) in _NO_SERVER:
        return Transient(
            "spark.unreachable",
            f"The Spark Connect server {server_name()} does not answer.",
            node=node,
            hint="Check that it runs and that the worker can reach it, then run again. System Health shows when it "
            "answers.",
        )
    if isinstance(error, (Py4JNetworkError, ConnectionError, EOFError)) or _is_lost(text):
        return Transient(
            "spark.lost",
            "Spark stopped during the run.",
            node=node,
            hint="Run again. If this repeats, check the memory of the worker's machine.",
        )
    if any(sign in text for sign in _WORKER_LOST):
        return Transient(
            "spark.worker_lost",
            "A Python worker of Spark stopped during the run.",
            node=node,
            hint="The usual cause is too little memory.",
        )
    if missing := _MISSING_MODULE.search(text):
        return Terminal(
            "spark.executor_lacks",
            f"Spark's executors do not have the Python package {missing[1]!r}.",
            node=node,
            hint="Install Flow with its dependencies in the executors' Python.",
        )
    if _DATA_STATE.search(text):
        return _expression_failure(text, node, expressions)
    return _unknown_failure(error, text, node)


def _grpc_status(error: BaseException) -> str:
    """Return the name of the gRPC status in an error of gRPC, or in an error of pyspark that gRPC caused."""
    ask = getattr(error, "getGrpcStatusCode", None) or getattr(error, "code", None)
    return str(getattr(ask() if callable(ask) else None, "name", ""))


def _is_lost(text: str) -> bool:
    return any(sign in text for sign in _LOST) or _NO_ANSWER.match(text) is not None


def _unmark(text: str) -> Failure:
    values = json.loads(bytes.fromhex(text))
    kind = _FAILURES.get(values["kind"], Terminal)
    failure = kind(values["code"], values["message"], hint=values["hint"], node=values["node"])
    failure.encrypted_detail = values["detail"]
    return failure


def _expression_failure(text: str, node: str | None, expressions: Sequence[Expression]) -> ExpressionFailed:
    """Return the failure of an expression. It contains the error condition, because the message of Spark quotes the
    value, and the expression if it can be found."""
    condition = _condition(text) or "a value it cannot take"
    fragment = _fragment(text)
    suspects = [e for e in expressions if fragment and fragment in _close(e.sql)] or list(expressions)
    named = " or ".join(map(_named, suspects)) or "An expression"
    failure = ExpressionFailed(
        "expression.failed",
        f"{named} failed on a row of the data: {condition}.",
        node=suspects[0].node if suspects else node,
        hint="Guard it, for example with nullif(b, 0), try_divide, try_cast or a filter before it.",
    )
    failure.why, failure.column = condition, (suspects[0].column or None) if len(suspects) == 1 else None
    return failure


def _fragment(text: str) -> str:
    """Return the part of an expression that Spark underlines, or an empty text."""
    if (found := _FRAGMENT.search(text)) is None:
        return ""
    line, before, under = found.groups()
    return _close(line[len(before) :][: len(under)]).strip(".")


def _named(expression: Expression) -> str:
    column = f", column {expression.column!r}" if expression.column else ""
    return f"{expression.text!r} ({expression.location} of {expression.node}{column})"


def _close(sql: str) -> str:
    return re.sub(r"\s+", "", sql)


def _condition(text: str) -> str | None:
    found = _CONDITION.findall(text)
    return found[0] if found else None


def _unknown_failure(error: BaseException, text: str, node: str | None) -> Terminal:
    """Return a failure with the type of the error and its line in the Python code. Messages and tracebacks may contain
    values of rows."""
    kinds, positions = _PYTHON_ERROR.findall(text), _PYTHON_POSITION.findall(text)
    what = kinds[-1] if kinds else _condition(text) or type(error).__name__
    where = f" at {positions[-1][0].rpartition('/')[2]}, line {positions[-1][1]}" if positions else ""
    return Terminal(
        "spark.failed",
        f"Spark could not do the run's work: {what}{where}.",
        node=node,
        hint="The target was not loaded. Please report this with the pipeline.",
    )
