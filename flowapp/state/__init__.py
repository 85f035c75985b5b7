"""Move the state of pipelines between installations: runs, files, load records and watermarks, as JSON Lines."""
