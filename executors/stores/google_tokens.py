"""Access tokens of Google's service accounts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
from google.auth import exceptions, transport
from google.oauth2 import service_account

from executors.http_logs import hide_requests
from executors.stores.failures import credentials_refused, unreachable

hide_requests()

SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
REQUEST_SECONDS = 10.0


class AccessTokens:
    """The tokens of a key of a service account. `name` of the store is displayed. Several threads may use it."""

    def __init__(self, name: str, key: str) -> None:
        """Raises ValueError for an unusable key."""
        self._name = name
        made = service_account.Credentials.from_service_account_info(json.loads(key), scopes=[SCOPE])
        self._credentials: service_account.Credentials = made

    def current(self) -> str:
        """Return a valid token; get a new one a few minutes before the last one expires. Raises Terminal
        `source.credentials_refused` and Transient `source.store_unreachable`."""
        if not self._credentials.valid:
            self._refresh()
        return str(self._credentials.token)

    def _refresh(self) -> None:
        # No cause: the response of the server and the address may be in the driver's text.
        try:
            self._credentials.refresh(_request)
        except exceptions.RefreshError as error:
            if error.retryable:
                raise unreachable(self._name, "getting an access token") from None
            raise credentials_refused(self._name) from None
        except exceptions.TransportError:
            raise unreachable(self._name, "getting an access token") from None


class _Response(transport.Response):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    @property
    def data(self) -> bytes:
        return self._response.content


def _request(
    url: str,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = None,
    **more: Any,
) -> transport.Response:
    try:
        return _Response(httpx.request(method, url, content=body, headers=headers, timeout=timeout or REQUEST_SECONDS))
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise exceptions.TransportError(type(error).__name__) from None
