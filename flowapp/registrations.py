"""Load what apps register with the apps below them."""

from __future__ import annotations

import threading

from django.apps import apps

_lock = threading.RLock()
_registering: set[str] = set()
_registered = False


class Registers:
    """An AppConfig that registers hooks, periodic tasks, retention, kinds of runs or encrypted columns with apps below.

    It does not derive from AppConfig: Django uses the AppConfig of an app only if its `apps.py` contains no other."""

    def register(self) -> None:
        """Register everything. Called once per process, before the first use of a registry and not when Django starts:
        the imports take longer than most commands."""


def load_registrations() -> None:
    """Call `register` of every app, once per process. Every function that reads a registry calls this first.

    Raises RuntimeError if an app reads a registry while it registers, and again after an app has failed to register, so
    that an incomplete registry is never read. Do not call it while a module is loaded."""
    global _registered
    if _registered:
        return
    with _lock:
        if _registered:
            return
        for config in apps.get_app_configs():
            if isinstance(config, Registers):
                if config.name in _registering:
                    raise RuntimeError(f"{config.name} has not finished to register.")
                _registering.add(config.name)
                config.register()
        _registered = True
