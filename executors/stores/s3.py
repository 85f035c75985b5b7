"""Buckets of Amazon S3 and of servers that speak its protocol."""

from __future__ import annotations

from executors.model import StoreConnection
from executors.stores.base import Store
from executors.stores.opendal_store import OpendalStore, operator, raise_unusable


class S3Store(OpendalStore):
    """Objects of a bucket."""

    @property
    def compares_versions(self) -> bool:
        return True


def open_store(connection: StoreConnection) -> Store:
    """Raises Terminal `source.store_unusable`."""
    settings, secrets = connection.settings, connection.secrets
    address = {"endpoint": settings["endpoint"]} if settings.get("endpoint") else {}
    try:
        client = operator(
            "s3",
            **address,
            bucket=settings["bucket"],
            region=settings["region"],
            access_key_id=settings["accessKey"],
            secret_access_key=secrets["secretKey"],
            enable_virtual_host_style=str(not settings["pathStyle"]).lower(),
            # Nothing but the connection decides as whom a run reads: no environment, file or role of the machine.
            disable_config_load="true",
            disable_ec2_metadata="true",
        )
    except Exception:  # noqa: BLE001 - the driver's text may repeat a key
        raise_unusable(connection.name)
    return S3Store(f"Bucket {settings['bucket']}", lambda: client)
