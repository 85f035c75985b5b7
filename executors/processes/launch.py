"""Starts a program: limits the process, may close the file system except for given folders, and becomes the program.

It is started by path in an isolated interpreter, so it imports nothing of Flow. Limits are set here, not in a function
that `subprocess` calls after a fork, because the worker has threads.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any

FAILED = 120
"""The exit status if the program could not be started."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ACCESS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""The kinds of access to files that can be denied, by the version of Landlock that introduced the last of them."""
_SCOPES = 3
"""No abstract sockets and no signals to other processes, from version 6."""
_NEEDED_VERSION = 3

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/passwd",
    "/etc/group",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
)
"""What every program can read, if it exists. `/proc` as a whole would show the variables of Flow's processes."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def sandbox_version() -> int:
    """Return the version of Landlock of this kernel, 0 if it cannot close the file system as needed."""
    if not sys.platform.startswith("linux"):
        return 0
    version = _syscall(_CREATE_RULESET, None, 0, 1)
    return version if version >= _NEEDED_VERSION else 0


def main(given: Mapping[str, Any], command: list[str]) -> None:
    os.umask(0o077)
    for name, value in given["limits"].items():
        _limit(getattr(resource, name), value)
    if sys.platform.startswith("linux"):
        _end_with(given["parent"])
    if given["sandbox"]:
        _close_files(readable=given["readable"], writable=given["writable"])
    os.execv(command[0], command)  # noqa: S606  # it becomes the tap


def _limit(kind: int, value: int) -> None:
    """Set a limit, unless there is a lower one already."""
    if kind == resource.RLIMIT_AS and not sys.platform.startswith("linux"):
        return  # macOS refuses it
    _, most = resource.getrlimit(kind)
    # At the hard limit of processor time the kernel sends SIGKILL, which says nothing; before it, SIGXCPU.
    hard = value + (kind == resource.RLIMIT_CPU)
    if most != resource.RLIM_INFINITY:
        hard = min(hard, most)
    resource.setrlimit(kind, (min(value, hard), hard))


def _end_with(parent: int) -> None:
    """Be killed when the worker dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED)


def _close_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Deny access to all files but the given ones, to this process and to those that it starts."""
    version = sandbox_version()
    if not version:
        raise OSError("this kernel has no Landlock, which closes the file system")
    handled = _ACCESS[max(known for known in _ACCESS if known <= version)]
    rules = _Ruleset(handled, 0, _SCOPES if version >= 6 else 0)
    size = ctypes.sizeof(rules) if version >= 6 else 8
    ruleset = _checked(_syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    for path in (*SYSTEM, *readable):
        _allow(ruleset, path, _READ & handled)
    for path in (*writable, "/dev/null"):
        _allow(ruleset, path, handled)
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError("the process cannot give up privileges")
    _checked(_syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        allowed = access if os.path.isdir(path) else access & _OF_FILES
        rule = _PathRule(allowed, file)
        _checked(_syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0))
    finally:
        os.close(file)


def _syscall(number: int, *args: Any) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *args))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]), sys.argv[2:])
    except (OSError, ValueError) as error:
        print(f"The program cannot be started: {error}", file=sys.stderr)
        sys.exit(FAILED)
