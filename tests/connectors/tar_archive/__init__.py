"""A connector that only the tests know: the files of a TAR archive. See `docs/development/connectors.md`."""
