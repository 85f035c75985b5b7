"""Starting processes that die with their parent, and ending processes that a dead parent left behind."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """A `preexec_fn`: the kernel sends `number` to the process when its parent is gone.

    Only for parents with a single thread. Linux alone has it; elsewhere leftovers are found at the next start.
    """
    libc, parent = _LIBC, os.getpid()
    if libc is None:
        return None

    def arm() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return arm


def is_running(pid: int) -> bool:
    """Whether a process with this id exists, whoever owns it. One that only waits to be reaped does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """In a container the first process may never reap orphans. Only Linux tells."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False


def command_line(pid: int) -> str:
    """The command line of a process, empty when it is gone or cannot be told."""
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    ps = shutil.which("ps")
    if ps is None:
        return ""
    return subprocess.run([ps, "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True).stdout


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Wait for `condition`, at most `seconds`; whether it came true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def end_leftover(pid: int, first: signal.Signals, seconds: float = 10) -> None:
    """Ask a process that is not our child to end; kill it when it does not within `seconds`."""
    for number, patience in ((first, seconds), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if wait_until(lambda: not is_running(pid), patience):
            return


def end_child(child: subprocess.Popen[bytes], first: signal.Signals, seconds: float = 10) -> None:
    """The same for a child: it is also waited for."""
    if child.poll() is None:
        child.send_signal(first)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()
