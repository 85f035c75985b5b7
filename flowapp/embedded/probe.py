"""Whether the web process serves: `python -m flowapp.embedded.probe`, also a container's health check."""

from __future__ import annotations

import http.client
import os
import sys
from http import HTTPStatus
from urllib.parse import urlsplit

from flowapp.embedded.address import parse_bind

_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def web_answers(host: str, port: int, timeout: float = 3) -> bool:
    """Whether `/api/health/` says that all is well there. It is asked by the public name: no other is served."""
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
