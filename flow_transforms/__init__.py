"""Write the transforms of a pipeline in Python. `flow compile` records what a function does and writes it as a plan.

Nothing here reads rows. The package knows neither the operations nor the functions of Flow: it records names and
arguments, and `flow compile` checks them.
"""

from flow_transforms import functions
from flow_transforms.columns import Column
from flow_transforms.frames import DataFrame
from flow_transforms.recording import TransformError, pipeline

__all__ = ["Column", "DataFrame", "TransformError", "functions", "pipeline"]
