"""Reads MySQL and MariaDB. Nothing here writes."""
