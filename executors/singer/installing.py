"""Installs and removes taps. Only the command line calls this: packages are programs that run with Flow's rights."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path

from executors.errors import Terminal
from executors.processes.launch import sandbox_version
from executors.singer.environments import DESCRIPTION, NAME, Tap, TapFolder

PINNED = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[A-Za-z0-9._,-]+\])?==[0-9][A-Za-z0-9.!+_-]*")
SECONDS = 1800
_SHOWN_LINES = 15
_PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
_PASSED_PREFIXES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class TapRequest:
    """What to install: a package with its exact version, or a file of requirements with hashes. `executable` is the
    program of the tap, if the package has several."""

    name: str
    package: str = ""
    requirements: Path | None = None
    executable: str = ""
    settings: tuple[str, ...] | None = ()
    sandbox: bool = True


def install_tap(folder: TapFolder, request: TapRequest, *, replaces: bool = False) -> Tap:
    """Install a tap into a new environment, and use it once it is complete. Raises Terminal `singer.…`."""
    _check(request)
    with _locked(folder, request.name) as home:
        if (home / DESCRIPTION).exists() and not replaces:
            raise Terminal(
                "singer.tap_exists",
                f"There is a tap {request.name!r} already.",
                hint="Choose another name, or replace its package with --replace.",
            )
        build = home / f"build-{secrets.token_hex(6)}"
        try:
            _make(build, request)
            tap = _describe(build, request)
            folder.publish(tap)
        except BaseException:
            shutil.rmtree(build, ignore_errors=True)
            raise
        _delete_unused(folder, home, but=tap.build)
    return tap


def remove_tap(folder: TapFolder, name: str) -> Tap:
    """Remove a tap. Raises Terminal `singer.tap_unknown`, and `singer.tap_used` while a run uses it."""
    with _locked(folder, folder.find(name).name) as home:
        tap = folder.find(name)
        with ExitStack() as stack:
            # A run may also use an environment that was replaced meanwhile.
            unused = [stack.enter_context(folder.unused(build)) for build in _builds(home)]
            if not all(unused):
                raise Terminal(
                    "singer.tap_used", f"A run uses the tap {name} now.", hint="Try again when the run has ended."
                )
            (home / DESCRIPTION).unlink()
            shutil.rmtree(home)
    return tap


def allow_settings(folder: TapFolder, name: str, settings: tuple[str, ...] | None) -> Tap:
    """Change the settings that pipelines may give to a tap. Raises Terminal `singer.tap_unknown`."""
    with _locked(folder, folder.find(name).name):
        tap = replace(folder.find(name), settings=settings)
        folder.publish(tap)
    return tap


def _check(request: TapRequest) -> None:
    if not NAME.fullmatch(request.name):
        raise Terminal(
            "singer.name_invalid",
            f"{request.name!r} is not a valid name for a tap.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    if bool(request.package) == (request.requirements is not None):
        raise Terminal(
            "singer.package_not_pinned",
            "A tap is installed from either a package or a file of requirements.",
            hint="--package tap-example==1.2.3, or --requirements FILE with hashes.",
        )
    if request.package and not PINNED.fullmatch(request.package):
        raise Terminal(
            "singer.package_not_pinned",
            f"{request.package!r} does not name one exact version of a package.",
            hint="Write it as tap-example==1.2.3.",
        )
    if request.requirements is not None and not request.requirements.is_file():
        raise Terminal("singer.file_unreadable", f"{request.requirements} is not a file.", hint="Correct the path.")
    if request.sandbox and not sandbox_version():
        raise Terminal(
            "singer.no_sandbox",
            "This system has no Landlock (Linux 6.2 or newer), which closes the file system to taps.",
            hint="A tap without it can read all files of Flow. If you trust the package and all people who may edit "
            "its settings, use --without-sandbox.",
        )


@contextmanager
def _locked(folder: TapFolder, name: str) -> Iterator[Path]:
    home = folder.root / name
    folder.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder.root / f"{name}.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Terminal(
                "singer.tap_locked", f"Another command changes the tap {name} now.", hint="Wait until it has ended."
            ) from None
        home.mkdir(exist_ok=True)
        yield home


def _make(build: Path, request: TapRequest) -> None:
    _run([sys.executable, "-m", "venv", str(build)], "The virtual environment could not be made")
    wanted = [request.package]
    if request.requirements is not None:
        wanted = ["--require-hashes", "--requirement", str(request.requirements.resolve())]
    pip = [str(build / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]
    _run([*pip, "install", "--no-warn-script-location", *wanted], "pip could not install the packages")


def _run(command: Sequence[str], what: str) -> None:
    """Run a command without Flow's variables. Raises Terminal `singer.install_failed` with its last lines."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED or name.upper().startswith(_PASSED_PREFIXES)
    }
    try:
        done = subprocess.run(
            command,
            env=inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Terminal(
            "singer.install_failed", f"{what}: it did not end within {SECONDS // 60} minutes.", hint="Try again."
        ) from None
    if done.returncode:
        last = done.stdout.decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
        raise Terminal(
            "singer.install_failed",
            f"{what}:\n" + "\n".join(last),
            hint="Correct the package or the settings of pip, and run the command again.",
        )


def _describe(build: Path, request: TapRequest) -> Tap:
    (site,) = build.glob("lib/python*/site-packages")
    found = [one for one in distributions(path=[str(site)]) if one.name not in ("pip", "setuptools")]
    match = PINNED.fullmatch(request.package)
    owner, executable = _program(found, request.executable, match[1] if match else "")
    return Tap(
        name=request.name,
        package=f"{owner.name}=={owner.version}",
        executable=executable,
        build=build.name,
        packages=tuple(sorted(f"{one.name}=={one.version}" for one in found)),
        settings=request.settings,
        sandbox=request.sandbox,
        added_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _program(found: Sequence[Distribution], wanted: str, package: str) -> tuple[Distribution, str]:
    """Return the program of the tap and its distribution: the wanted one, or the only one of the package."""
    named = [one for one in found if _normal(one.name) == _normal(package)] if package else found
    programs = [
        (one, entry.name)
        for one in named
        for entry in one.entry_points.select(group="console_scripts")
        if entry.name == wanted or (not wanted and (package or entry.name.startswith("tap")))
    ]
    if len(programs) > 1 and not wanted:
        programs = [one for one in programs if one[1].startswith("tap")]
    if len(programs) == 1:
        return programs[0]
    have = sorted(e.name for one in named for e in one.entry_points.select(group="console_scripts"))
    raise Terminal(
        "singer.no_program",
        f"The program of the tap is not clear: the packages have {', '.join(have[:10]) or 'none'}.",
        hint="Name it with --executable, or install a package that has a tap.",
    )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _delete_unused(folder: TapFolder, home: Path, *, but: str) -> None:
    """Delete earlier environments that no run uses, and incomplete ones."""
    for build in _builds(home):
        if build.name != but:
            with folder.unused(build) as is_unused:
                if is_unused:
                    shutil.rmtree(build, ignore_errors=True)


def _builds(home: Path) -> list[Path]:
    return list(home.glob("build-*"))
