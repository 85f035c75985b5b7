"""Previews one node of a pipeline. The rows are evaluated as in a run. A preview reads few rows and writes nothing."""
