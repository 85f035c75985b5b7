"""Delta tables: their folders, their logs, and the loads that are committed to them."""
