"""Check whether the web process responds: `python -m flowapp.embedded.probe`, also the health check of a container."""

from __future__ import annotations

import http.client
import os
import sys
from http import HTTPStatus
from urllib.parse import urlsplit

from flowapp.embedded.address import parse_bind

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def web_answers(host: str, port: int, timeout: float = 3) -> bool:
    """Return whether `/api/health/` responds with OK. The request uses the public host name, because no other is
    allowed."""
    public = urlsplit(os.environ.get("FLOW_PUBLIC_URL", "")).netloc
    connection = http.client.HTTPConnection(_WILDCARDS.get(host, host), port, timeout=timeout)
    try:
        connection.request("GET", "/api/health/", headers={"Host": public} if public else {})
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(not web_answers(*parse_bind(os.environ.get("FLOW_BIND"))))
