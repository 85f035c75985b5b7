"""Serves one file. Requests are lines of JSON on the input; rows are answered as a stream of Arrow IPC, everything else
as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from executors.database_files.engine.base import (
    Engine,
    EngineLimits,
    EngineSession,
    FoundColumn,
    Refused,
    TextRows,
    out_of_memory,
    row_too_long,
)

if TYPE_CHECKING:
    import pyarrow as pa

_ENGINES = ("sqlite", "duckdb")
BAD, RAW = "bad", "raw"
"""The columns after those of the source: why a row cannot be read, and its text."""
END, FAILURE = b"end", b"failure"
"""What the last batch, which is empty, is marked with: the number of rows, or a failure. A stream without it is
incomplete."""


def main() -> None:
    # Nothing that a library prints may mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    given = json.loads(sys.argv[1])
    path, limits = Path(given["path"]), EngineLimits(**given["limits"])
    if given["engine"] not in _ENGINES:
        raise ValueError(given["engine"])
    engine = cast(Engine, import_module(f"executors.database_files.engine.{given['engine']}").ENGINE)
    with answers:
        try:
            with engine.connect(path, limits) as session:
                _say(answers, {})
                for line in sys.stdin.buffer:
                    _answer(answers, session, json.loads(line), path.name, limits)
        except (Refused, MemoryError) as error:
            _say(answers, {"failure": described(error, path.name, limits)})


def _answer(
    answers: BinaryIO, session: EngineSession, request: Mapping[str, Any], name: str, limits: EngineLimits
) -> None:
    if "columns" in request:
        columns = [FoundColumn(**column) for column in request["columns"]]
        _write(answers, session.rows(request["statement"], columns), len(columns), name, limits)
        return
    try:
        _say(answers, {"columns": [asdict(column) for column in session.columns(request["statement"])]})
    except (Refused, MemoryError) as error:
        _say(answers, {"failure": described(error, name, limits)})


def _write(answers: BinaryIO, found: Iterator[TextRows], width: int, name: str, limits: EngineLimits) -> None:
    import pyarrow as pa

    schema = pa.schema([*((str(at), pa.string()) for at in range(width)), (BAD, pa.string()), (RAW, pa.string())])
    with pa.ipc.new_stream(answers, schema) as stream:
        last, count = {}, 0
        try:
            for rows in found:
                for batch in _bounded(_batch_of(rows, schema), name, limits):
                    stream.write_batch(batch)
                    answers.flush()
                count += rows.size
            last = {END: str(count)}
        except (Refused, MemoryError) as error:
            last = {FAILURE: json.dumps(described(error, name, limits))}
        stream.write_batch(pa.RecordBatch.from_pylist([], schema=schema), custom_metadata=last)
    answers.flush()


def _batch_of(rows: TextRows, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    def sparse(texts: Mapping[int, str]) -> pa.Array:
        if not texts:
            return pa.nulls(rows.size, pa.string())
        return pa.array([texts.get(index) for index in range(rows.size)], pa.string())

    return pa.RecordBatch.from_arrays([*rows.arrays, sparse(rows.reasons), sparse(rows.raw)], schema=schema)


def _bounded(batch: pa.RecordBatch, name: str, limits: EngineLimits) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of about the size that the reader allows, with at least one row. Raises Refused for a
    row that is too long."""
    if batch.nbytes <= limits.batch:
        yield batch
        return
    start = size = 0
    for at, row in enumerate(_row_bytes(batch)):
        if row > limits.row:
            raise row_too_long(name, limits.row)
        if size and size + row > limits.batch:
            yield batch.slice(start, at - start)
            start, size = at, 0
        size += row
    yield batch.slice(start)


def _row_bytes(batch: pa.RecordBatch) -> list[int]:
    import pyarrow.compute as pc

    sizes = [pc.fill_null(pc.binary_length(column), 0).to_pylist() for column in batch.columns]
    return [sum(row) for row in zip(*sizes, strict=True)]


def described(error: Refused | MemoryError, name: str, limits: EngineLimits) -> dict[str, str]:
    """Return a failure as it is sent."""
    refused = error if isinstance(error, Refused) else out_of_memory(name, limits.memory)
    return {"kind": refused.kind, "code": refused.code, "message": refused.message, "hint": refused.hint}


def _say(answers: BinaryIO, answer: Mapping[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
