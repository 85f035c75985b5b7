"""A destination that only the tests know: a table is a folder, and each load adds one file of JSON lines to it."""
