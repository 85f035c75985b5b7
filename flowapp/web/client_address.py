"""Find a request's client address. Headers can be forged, so only those of configured proxies are trusted."""

from __future__ import annotations

import logging
from ipaddress import IPv6Address, ip_address
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

logger = logging.getLogger(__name__)
FORWARDED_FOR = b"x-forwarded-for"


class ClientAddress:
    """Wraps an ASGI application. The client address is that of the sender, or the one that a chain of trusted proxies
    forwards."""

    def __init__(self, app: Any, trusted_proxies: list[str]) -> None:
        self._app = ProxyHeadersMiddleware(app, trusted_hosts=trusted_proxies)
        self._has_warned = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "client": self._sender(scope)}
        await self._app(scope, receive, send)

    def _sender(self, scope: Any) -> tuple[str, int] | None:
        """Return None if a proxy has replaced the address before Flow saw it: then the client is unknown."""
        if not scope.get("client"):
            return None
        host, port = _without_mapping(scope["client"][0]), scope["client"][1]
        forwarded = _forwarded_for(scope)
        if scope["client"][0] in forwarded:
            self._warn("X-Forwarded-For contains the sender itself. Start uvicorn with --no-proxy-headers.")
            return None
        if forwarded and host not in self._app.trusted_hosts:
            self._warn(
                f"X-Forwarded-For from {host} is ignored. If that is your proxy, name it in FLOW_TRUSTED_PROXIES: "
                "otherwise all people behind it count as one when passwords are guessed."
            )
        return host, port

    def _warn(self, text: str) -> None:
        """Log one warning only, because anybody can send the header."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(text)


def _forwarded_for(scope: Any) -> set[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == FORWARDED_FOR]
    parts = [part.strip() for value in values for part in value.split(",")]
    return {form for part in parts for form in (part, part.rpartition(":")[0].strip("[]"), part.strip("[]"))}


def _without_mapping(host: str) -> str:
    """Convert IPv4 addresses of IPv6 sockets (::ffff:192.0.2.1) to IPv4."""
    try:
        ip = ip_address(host)
    except ValueError:
        return host
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return str(mapped or host)
