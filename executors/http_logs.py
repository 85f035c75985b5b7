"""What libraries for HTTP log."""

from __future__ import annotations

import logging


def hide_requests() -> None:
    """Keep requests out of the log: these libraries log full URLs and headers, and both may have secrets."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
