"""Where the tables of a connection are: the root of a folder or bucket, for the Delta library and for pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

from executors.model import StoreConnection

REQUEST_SECONDS, CONNECT_SECONDS = 60, 10


@dataclass(frozen=True, slots=True)
class Root:
    """`uri` and `options` are for the Delta library, which reads and commits; `files` and the path `base` for pyarrow,
    which writes files."""

    uri: str
    base: str
    files: fs.FileSystem = field(repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_local(self) -> bool:
        """Return whether folders exist by themselves, so that they must be created."""
        return isinstance(self.files, fs.LocalFileSystem)


def root_of(connection: StoreConnection) -> Root:
    """Return the root of a connection. Raises KeyError for a kind without tables."""
    return _ROOTS[connection.kind](connection.settings, connection.secrets)


def _folder(settings: Mapping[str, Any], secrets: Mapping[str, str]) -> Root:
    path = Path(settings["path"])
    return Root(path.as_uri(), str(path), fs.LocalFileSystem())


def _s3(settings: Mapping[str, Any], secrets: Mapping[str, str]) -> Root:
    region, endpoint = settings.get("region") or "us-east-1", (settings.get("endpoint") or "").rstrip("/")
    in_path = bool(settings.get("pathStyle"))
    address = urlsplit(endpoint)
    options = {
        "aws_access_key_id": settings["accessKey"],
        "aws_secret_access_key": secrets["secretKey"],
        "aws_region": region,
        "aws_virtual_hosted_style_request": str(not in_path).lower(),
        "timeout": f"{REQUEST_SECONDS}s",
        "connect_timeout": f"{CONNECT_SECONDS}s",
    }
    if endpoint:
        options["aws_endpoint"] = endpoint
        options["allow_http"] = str(address.scheme == "http").lower()
    files = fs.S3FileSystem(
        access_key=settings["accessKey"],
        secret_key=secrets["secretKey"],
        region=region,
        endpoint_override=address.netloc or None,
        scheme=address.scheme or "https",
        force_virtual_addressing=bool(endpoint) and not in_path,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=REQUEST_SECONDS,
    )
    return Root(f"s3://{settings['bucket']}", settings["bucket"], files, options)


_ROOTS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, str]], Root]] = {"folder": _folder, "s3": _s3}
"""By kind of connection."""
