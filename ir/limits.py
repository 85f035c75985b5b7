"""How large a document may be. Far above what people write, and low enough that checking one takes a second."""

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
MAX_VALUES = 25_000
MAX_NODES = 1_000
MAX_INPUTS = 100
MAX_COLUMNS = 1_600
"""What a PostgreSQL table can have."""
MAX_KEY_COLUMNS = 32
"""What a PostgreSQL index can have."""
MAX_FAULTS = 1_000
"""Faults of structure that are told one by one."""
MAX_STEPS = 5_000_000
"""Steps that checking a document takes, of about a microsecond each."""
MAX_SAFE_INTEGER = 2**53 - 1
