"""Start processes that end with their parent, and end processes that a dead parent left behind."""

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
    """Return a `preexec_fn` with which the kernel sends `number` to the process when its parent ends; None on other
    systems than Linux.

    The parent must have a single thread. On other systems, the next start ends left processes."""
    libc, parent = _LIBC, os.getpid()
    if libc is None:
        return None

    def arm() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return arm


def is_running(pid: int) -> bool:
    """Return whether a process with this id exists, of any user. Zombies do not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Return whether the process is a zombie; False on other systems than Linux. In a container, the first process may
    never reap them."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False


def command_line(pid: int) -> str:
    """Return the command line of a process; empty if the process has ended or the command line is unknown."""
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
    """Wait at most `seconds` for `condition`. Return whether it became true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def end_leftover(pid: int, first: signal.Signals, seconds: float = 10) -> None:
    """Signal a process that is no child to end; kill it if it is still running after `seconds`."""
    for number, patience in ((first, seconds), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if wait_until(lambda: not is_running(pid), patience):
            return


def end_child(child: subprocess.Popen[bytes], first: signal.Signals, seconds: float = 10) -> None:
    """Signal a child to end, kill it if it is still running after `seconds`, and reap it."""
    if child.poll() is None:
        child.send_signal(first)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()
