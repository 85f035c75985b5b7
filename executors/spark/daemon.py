"""The process that Spark forks its Python workers from: it imports once what every one of them needs."""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import executors.spark.scan
import executors.spark.sink  # noqa: F401

if __name__ == "__main__":
    manager()
