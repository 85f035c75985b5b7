"""Reads the changes of a table from the binary log of a MariaDB server."""
