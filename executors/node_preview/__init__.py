"""The rows of one node of a pipeline, evaluated as a run evaluates them. It reads few rows and writes nothing."""
