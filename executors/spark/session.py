"""The Spark application of this process, and the sessions of runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pyspark import SparkContext
from pyspark.sql import SparkSession

from executors.errors import Failure
from executors.model import ModuleCode
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
    # By default Spark replaces '${x}' in an expression with a setting or an environment variable.
    "spark.sql.variable.substitute": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # Reading a reference may take longer than the default. The time limit of the run applies.
    "spark.sql.broadcastTimeout": "-1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "0",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
}
"""Set on every session: a new session of Spark Connect does not inherit settings."""

_LOCK = threading.Lock()
_base: SparkSession | None = None


def get_session(mode: Mode = "inline") -> SparkSession:
    """Return the first session of the application. Starts the application if needed.

    `mode` selects whether a local JVM is optimized for a fast start or for fast work. Raises Terminal `java.missing`,
    Transient `spark.lost` or `spark.unreachable`.
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
    """The session of one run. Its settings, views and cancellation do not affect other runs.

    The session starts when it is first needed. When the block ends, it is reused by later runs, unless the run was
    interrupted or failed. On classic Spark, jobs of different pools share the cores fairly, and jobs of one pool run in
    order. `modules` are the modules of custom transforms, as documents name them.
    """

    def __init__(self, pool: str = "", modules: Mapping[str, ModuleCode] | None = None) -> None:
        self._lock, self._pool, self.modules = threading.Lock(), pool, modules or {}
        self._session: SparkSession | None = None
        self._interrupted = False

    def __enter__(self) -> RunSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        if not remote():
            # Classic Spark stores nothing else for a session, and stopping it would stop the application. The error of
            # a run whose JVM has ended must reach the caller.
            with _ignoring_a_dead_jvm():
                self._use_pool(session, "")
            return
        # Checked last: a later interruption finds no session. After an error, work of the run may still be active on
        # the server, which stops it with the session.
        if self._interrupted or kind is not None:
            release(session)
        else:
            return_session(session)

    def start(self) -> SparkSession:
        """Return the session. Raises the errors of `get_session`."""
        with self._lock, translate():
            if self._session is None:
                self._session = _take_session()
                self._use_pool(self._session, self._pool)
            return self._session

    @staticmethod
    def _use_pool(session: SparkSession, pool: str) -> None:
        """Set the pool. Classic Spark stores it for the current thread."""
        if not remote():
            session.sparkContext.setLocalProperty("spark.scheduler.pool", pool or "default")

    def interrupt(self) -> None:
        """Stop all work of the session; the caller gets `Cancelled`. Can be called from another thread, and if no work
        is active."""
        self._interrupted = True
        session = self._session
        if session is not None:
            with translate():
                session.interruptAll()

    def check(self) -> None:
        """Raise `Cancelled` if the session was interrupted. Call it between jobs, because an interruption only stops
        active jobs."""
        if self._interrupted:
            raise interrupted()


def warm_up() -> None:
    """Prepare a long-lived process: run a first job and start the Python workers.

    If Spark runs on other machines, this also checks the executors. Raises the errors of `get_session` and
    `probe_cluster`.
    """
    get_session("worker")
    with RunSession() as session:
        warm_workers(session.start())
        if not is_local():
            probe_cluster(session.start())


def is_started() -> bool:
    """Return whether the application was started or is remote."""
    return _base is not None or bool(remote())


def answers() -> bool:
    """Return whether the application was started, or is remote, and answers.

    Waits for the answer.
    """
    if not is_started():
        return False
    try:
        with translate():
            # A restarted server ends the session with this call. The next call uses a new session.
            return bool(get_session().conf.get("spark.sql.ansi.enabled"))
    except Failure:
        return False


def stop_session(patience: float = 20) -> None:
    """Stop the application and wait until its JVM has ended. After `patience` seconds the JVM is killed.

    Does nothing if the application was not started.
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
    """Return an idle session that the server still accepts, or a new one, with the settings of Flow."""
    if idle := take_session():
        with suppress(Failure), translate():
            _apply_settings(idle)
            return idle
    session = get_session().newSession()
    _prepare(session)
    return session


def _prepare(session: SparkSession) -> None:
    """Apply settings and retry limits to a new session."""
    if not remote():
        _apply_settings(session)
        return
    limit_retries(session)
    before_pyspark_at_exit(stop_session)
    try:
        _apply_settings(session)
    except BaseException:
        release(session)  # no other code has a reference to it
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
            # Nothing is stored in it, but Spark creates the folder, by default in the current folder.
            "spark.sql.warehouse.dir": str(java.cache_folder() / "spark-warehouse"),
        }
    return settings


def _java_options(mode: Mode) -> list[str]:
    options = [f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"]
    if mode == "inline":
        # Two compilers and a parallel collector would compete with a short run for the cores.
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return options


@contextmanager
def _java_environment() -> Iterator[None]:
    """Set the environment variables of the Spark launcher while the body starts the application."""
    wanted = {
        "JAVA_HOME": str(java.java_home()),
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Without it workers run the first `python3` on PATH; the setting spark.pyspark.python is not enough.
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
    """End the JVM. pyspark would keep it for the next context, also after this process has no use for it."""
    gateway = SparkContext._gateway
    if gateway is None:
        return
    # A context whose JVM has ended cannot be stopped, and pyspark would continue to use it.
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
