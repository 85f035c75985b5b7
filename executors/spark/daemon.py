"""The process that Spark forks its Python workers from: it imports once what every one of them needs."""

from __future__ import annotations

import gc

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import executors.spark.scan
import executors.spark.sink  # noqa: F401

if __name__ == "__main__":
    # Workers collect garbage after every task; what was imported here would take them most of a task's time.
    gc.freeze()
    manager()
