"""The one Spark application of this process, and the sessions that runs take from it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pyspark import SparkContext
from pyspark.sql import SparkSession

from executors.errors import Failure
from executors.spark import java
from executors.spark.address import is_local, master, remote
from executors.spark.errors import interrupted, translate
from executors.spark.probe import probe_cluster, warm_workers
from executors.spark.server import limit_retries, open_session
from executors.spark.session_pool import before_pyspark_at_exit, release, release_sessions, return_session, take_session

Mode = Literal["inline", "worker"]

SESSION_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    # '${x}' in an expression is a text; Spark would put settings and variables of its environment in its place.
    "spark.sql.variable.substitute": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # A reference may take longer to read; what ends it is the limit of the run.
    "spark.sql.broadcastTimeout": "-1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
}
"""Set on every session: Spark Connect does not hand them on to new ones."""

_LOCK = threading.Lock()
_base: SparkSession | None = None


def get_session(mode: Mode = "inline") -> SparkSession:
    """The application's first session, started on first use.

    `mode` says whether a JVM of our own should start fast or stay fast.
    Raises Terminal `java.missing`, Transient `spark.lost` or `spark.unreachable`.
    """
    global _base
    with _LOCK, translate():
        server = remote()
        if _base is None or (server and _base.client.is_closed):
            session = open_session(server) if server else _start(mode)
            _prepare(session)
            _base = session
        return _base


class RunSession:
    """A session of its own for one run: settings, views and cancelling do not touch other runs.

    It starts when it is first needed. Leaving the block gives it back to runs to come,
    unless the run was interrupted or has failed. Jobs of different pools share the cores of classic Spark fairly, those
    of one pool wait for each other.
    """

    def __init__(self, pool: str = "") -> None:
        self._lock, self._pool = threading.Lock(), pool
        self._session: SparkSession | None = None
        self._interrupted = False

    def __enter__(self) -> RunSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        session, self._session = self._session, None
        if session is None or not remote():
            if session is not None:
                self._use_pool(session, "")
            return  # on classic Spark nothing is kept for a session, and stopping it would stop the application
        # Looked at last: an interruption that comes later finds no session. After an error something of the run may
        # still be at work in the server, which ends it with its session.
        if self._interrupted or kind is not None:
            release(session)
        else:
            return_session(session)

    def start(self) -> SparkSession:
        """The session itself. Raises what `get_session` raises."""
        with self._lock, translate():
            if self._session is None:
                self._session = _take_session()
                self._use_pool(self._session, self._pool)
            return self._session

    @staticmethod
    def _use_pool(session: SparkSession, pool: str) -> None:
        """Classic Spark remembers it for the thread."""
        if not remote():
            session.sparkContext.setLocalProperty("spark.scheduler.pool", pool or "default")

    def interrupt(self) -> None:
        """End all that runs in it; its caller sees `Cancelled`. Safe from another thread, and when idle."""
        self._interrupted = True
        session = self._session
        if session is not None:
            with translate():
                session.interruptAll()

    def check(self) -> None:
        """Raise `Cancelled` if it was interrupted, which between two jobs ends nothing by itself."""
        if self._interrupted:
            raise interrupted()


def warm_up() -> None:
    """Get a long-lived process ready: pays for the first job now, Python workers included.

    Where Spark runs on other machines this also proves that they can do the work; raises what `probe_cluster` raises.
    """
    get_session("worker")
    with RunSession() as session:
        warm_workers(session.start())
        if not is_local():
            probe_cluster(session.start())


def is_started() -> bool:
    """Whether the application was started, or runs elsewhere."""
    return _base is not None or bool(remote())


def answers() -> bool:
    """Whether the application was started and answers; one elsewhere need not have been used yet.

    Takes as long as that answer does.
    """
    if not is_started():
        return False
    try:
        with translate():
            # A server that was started again ends the session it is asked in; the next answer comes from a new one.
            return bool(get_session().conf.get("spark.sql.ansi.enabled"))
    except Failure:
        return False


def stop_session(patience: float = 20) -> None:
    """Stop the application and wait until its JVM is gone; after `patience` seconds it is killed.

    Does nothing if none was started.
    """
    global _base
    with _LOCK:
        session, _base = _base, None
        if session is not None:
            if remote():
                release_sessions()
                release(session)
                return
            with _ignoring_a_dead_jvm():
                session.stop()
            _end_gateway(patience)


def _take_session() -> SparkSession:
    """A spare one, if there is one that the server still knows, else a new one; with our settings."""
    if idle := take_session():
        with suppress(Failure), translate():
            _apply_settings(idle)
            return idle
    session = get_session().newSession()
    _prepare(session)
    return session


def _prepare(session: SparkSession) -> None:
    """What every session of ours gets when it is new."""
    if not remote():
        _apply_settings(session)
        return
    limit_retries(session)
    before_pyspark_at_exit(stop_session)
    try:
        _apply_settings(session)
    except BaseException:
        release(session)  # nobody else knows it
        raise


def _apply_settings(session: SparkSession) -> None:
    for name, value in SESSION_SETTINGS.items():
        session.conf.set(name, value)


def _start(mode: Mode) -> SparkSession:
    builder = SparkSession.builder.master(master()).appName("flow")
    for name, value in _settings(" ".join(_java_options(mode)), local=is_local()).items():
        builder = builder.config(name, value)
    with _java_environment():
        return builder.getOrCreate()


def _settings(java_options: str, *, local: bool) -> dict[str, str]:
    settings = {
        "spark.scheduler.mode": "FAIR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": java_options,
        "spark.driver.memory": "1g",
        "spark.python.daemon.module": "executors.spark.daemon",
    }
    if local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Nothing is kept there, but Spark makes the folder, by default where it was started.
            "spark.sql.warehouse.dir": str(java.cache_folder() / "spark-warehouse"),
        }
    return settings


def _java_options(mode: Mode) -> list[str]:
    options = [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"]
    if mode == "inline":
        # Two compilers and a parallel collector compete with a short run for the cores.
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return options


@contextmanager
def _java_environment() -> Iterator[None]:
    """What the launcher reads from the environment, for the application that is started inside only."""
    wanted = {
        "JAVA_HOME": str(java.java_home()),
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Without it workers run whatever `python3` is on the path; the setting spark.pyspark.python is not enough.
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _ignoring_a_dead_jvm() -> Iterator[None]:
    try:
        with translate():
            yield
    except Failure:
        return


def _end_gateway(patience: float) -> None:
    """pyspark keeps the JVM for a next context; we want none left behind when the process goes on."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    # A context whose JVM died could not be stopped, and pyspark would go on using it.
    SparkContext._active_spark_context = SparkSession._instantiatedSession = None
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
