"""Delta tables as a destination of runs."""

from executors.destinations.delta.handler import DeltaDestination as DeltaDestination
