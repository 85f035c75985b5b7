"""Singer taps: their environments, their processes, and the messages that they write."""
