"""Features that this release can parse but not run. Documents that use them are refused."""

NOT_YET: tuple[tuple[str, str], ...] = (
    ("source connector", "gcs"),
    ("source connector", "azure_blob"),
    ("source connector", "sftp"),
    ("source connector", "http_pull"),
    ("format", "xml"),
)
"""(family, name) of each kind."""

NOT_YET_OPS = {
    "union": "Load the table with a target for each source (append and upsert), read all files with one pattern, or "
    "write UNION ALL in the query of a PostgreSQL source.",
}
"""Ops that are not available yet, with alternatives."""
