"""Backfills: the history of a source in chunks, each of which is a load of its own."""
