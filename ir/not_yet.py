"""Features that this release can parse but not run. Documents that use them are refused."""

NOT_YET: tuple[tuple[str, str], ...] = ()
"""(family, name) of each kind."""
