"""Loads what apps register with the apps below them."""

from __future__ import annotations

import threading

from django.apps import apps

_lock = threading.RLock()
_registering: set[str] = set()
_registered = False


class Registers:
    """An AppConfig that registers hooks, periodic tasks, retention, kinds of run or encrypted columns with apps below.

    This is no AppConfig itself: Django uses the one of an app only if its `apps.py` names no other.
    """

    def register(self) -> None:
        """Register them. Called once in a process, before the first use of what is registered and not when Django
        starts: what it imports takes longer to load than most commands take to run.
        """


def load_registrations() -> None:
    """Let each app register what it has, unless they have. Whatever reads a registry calls this first.

    Raises RuntimeError where an app reads a registry while it registers, and again after an app has failed to register:
    a registry that lacks a part is never read. Must not be called while a module is loaded.
    """
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
