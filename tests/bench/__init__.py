"""Benchmarks of the product against its floors and peers."""

import base64

ENCRYPTION_KEY = base64.urlsafe_b64encode(b"the key of all benchmarks".ljust(32)).decode()
"""The same in each run, because databases are reused between runs."""
