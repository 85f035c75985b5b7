"""A connector that only the tests know: the files of a ZIP archive. See `docs/development/connectors.md`."""
