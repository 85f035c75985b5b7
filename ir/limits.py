"""Limits on the size of a document. They are far above documents in practice, and low enough to check one in a
second."""

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_VALUES = 25_000
MAX_NODES = 1_000
MAX_INPUTS = 100
MAX_COLUMNS = 1_600
"""The maximum number of columns of a PostgreSQL table."""
MAX_KEY_COLUMNS = 32
"""The maximum number of columns of a PostgreSQL index."""
MAX_FAULTS = 1_000
"""The maximum number of structural errors that are reported one by one."""
MAX_STEPS = 5_000_000
"""The maximum number of steps for checking a document, of about a microsecond each."""
MAX_SAFE_INTEGER = 2**53 - 1
