"""Running `flow` in this process."""

from tests.flowapp.cli.conftest import flow

__all__ = ["flow"]
