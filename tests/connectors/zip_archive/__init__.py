"""A connector that only the tests know: the files of a ZIP archive. `docs/connectors.md` explains it step by step."""
