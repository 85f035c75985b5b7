"""Reads the changes of a table from the write-ahead log of a PostgreSQL server."""
