"""The kinds of runs. Each is a tuple of steps, which `runner` executes."""
