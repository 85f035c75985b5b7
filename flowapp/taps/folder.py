"""The folder of the taps of this installation."""

from __future__ import annotations

from django.conf import settings

from executors.api import TapFolder


def tap_folder() -> TapFolder:
    return TapFolder(settings.TAPS)
