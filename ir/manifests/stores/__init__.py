"""The kinds of connections that are made from their fields, stores of files, databases and folders of tables, one file
each, and their table."""

from __future__ import annotations

from ir.kinds import KindTable
from ir.manifests.stores.azure_blob import DeclaredAzureBlob
from ir.manifests.stores.base import DeclaredStore
from ir.manifests.stores.bigquery import DeclaredBigQuery
from ir.manifests.stores.folder import DeclaredFolder
from ir.manifests.stores.gcs import DeclaredGcs
from ir.manifests.stores.http import DeclaredHttp
from ir.manifests.stores.mysql import DeclaredMysql
from ir.manifests.stores.oracle import DeclaredOracle
from ir.manifests.stores.s3 import DeclaredS3
from ir.manifests.stores.sftp import DeclaredSftp
from ir.manifests.stores.singer import DeclaredSinger
from ir.manifests.stores.snowflake import DeclaredSnowflake
from ir.manifests.stores.sqlserver import DeclaredSqlServer

_KINDS: tuple[type[DeclaredStore], ...] = (
    DeclaredS3,
    DeclaredGcs,
    DeclaredAzureBlob,
    DeclaredFolder,
    DeclaredMysql,
    DeclaredSqlServer,
    DeclaredOracle,
    DeclaredSnowflake,
    DeclaredBigQuery,
    DeclaredSftp,
    DeclaredHttp,
    DeclaredSinger,
)
STORE_KINDS: KindTable[type[DeclaredStore]] = KindTable("kind of store", ((kind.name(), kind) for kind in _KINDS))
