"""Delta tables as the destination of the conformance cases."""
