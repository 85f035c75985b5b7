"""Starts a Spark Connect server, or a standalone master with one worker, from the wheel, while the block runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from executors.spark import java

WHEEL = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"


@contextmanager
def connect_server(folder: Path, keys: str, port: int | None = None) -> Iterator[str]:
    """Yield the address of a Spark Connect server whose tasks can decrypt with `keys`."""
    port = port or free_port()
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # Connect gives every session Python workers of its own.
        "spark.python.daemon.module": "executors.spark.daemon",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(WHEEL / "sbin" / "start-connect-server.sh"), "--wait", "--master", "local[2]", *options]
    with _running(command, folder / "connect", keys), _listening(port):
        yield f"sc://{LOOPBACK}:{port}"


def java_of(folder: Path) -> int:
    """Return the process ID of the Java that runs the Connect server in this folder."""
    found = subprocess.run(["pgrep", "-f", f"java .*{folder}/warehouse"], capture_output=True, text=True, check=True)
    (pid,) = [pid for pid in found.stdout.split() if Path(f"/proc/{pid}/comm").read_text().strip() == "java"]
    return int(pid)


@contextmanager
def standalone_cluster(folder: Path, keys: str) -> Iterator[str]:
    """Yield the address of a master with one worker that has two cores."""
    port, worker_port = free_port(), free_port()
    spark_class = str(WHEEL / "bin" / "spark-class")
    address = ["--host", LOOPBACK, "--port"]
    master = [spark_class, "org.apache.spark.deploy.master.Master", *address, str(port), "--webui-port", "0"]
    worker = [
        spark_class,
        "org.apache.spark.deploy.worker.Worker",
        *address,
        str(worker_port),
        "--webui-port",
        "0",
        "--cores",
        "2",
        "--memory",
        "2g",
        "--work-dir",
        str(folder / "work"),
        f"spark://{LOOPBACK}:{port}",
    ]
    with ExitStack() as stack:
        stack.enter_context(_running(master, folder / "master", keys))
        stack.enter_context(_listening(port))
        stack.enter_context(_running(worker, folder / "worker", keys))
        stack.enter_context(_listening(worker_port))
        yield f"spark://{LOOPBACK}:{port}"


@contextmanager
def _running(command: Sequence[str], folder: Path, keys: str) -> Iterator[None]:
    folder.mkdir(parents=True)
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(WHEEL),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_PID_DIR": str(folder),
        "FLOW_ENCRYPTION_KEYS": keys,
    }
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield
    finally:
        # The shell that leads the group ends at once, its JVM only after its shutdown.
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        deadline = time.monotonic() + 20
        while _is_there(process.pid):
            if time.monotonic() > deadline:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.2)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def _listening(port: int, patience: float = 120) -> Iterator[None]:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex((LOOPBACK, port)) == 0:
                break
        time.sleep(0.2)
    else:
        raise TimeoutError(f"nothing listens on port {port}")
    yield


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
