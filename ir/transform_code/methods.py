"""The methods of data frames, each with its operations.

An operation of the document is also a method with its own name, without an entry here: its fields are the arguments.
The entries here have names or arguments of PySpark.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from ir.diagnostics import listed, shown
from ir.kinds import KindTable
from ir.ops import OPS
from ir.spelling import guess
from ir.transform_code.expressions import column_name, write, write_expression
from ir.transform_code.recording import Call, CodeError, Tree

Ops = list[dict[str, Any]]


def ops_of(call: Call) -> Ops:
    """Return the operations of a call. Raises CodeError."""
    method, name = METHODS.get(call.method), _op_name(call.method)
    if method is None and name is None:
        raise _unknown(call)
    if name is not None and (method is None or _has_only_fields(call, name)):
        return [_generic(call, name)]
    assert method is not None  # noqa: S101 - one of both is there
    return method(call, **_bound(call, method))


def _bound(call: Call, method: Callable[..., Ops]) -> dict[str, Any]:
    """Return the arguments of a call by the names of the method's parameters."""
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())[1:]
    own = signature.replace(parameters=[p.replace(kind=_KINDS.get(p.name, p.kind)) for p in parameters])
    try:
        bound = own.bind(*call.args, **{_snake(name): value for name, value in call.kwargs.items()})
    except TypeError as error:
        usage = ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in own.parameters.values())
        message = f"{call.method}(): {error}."
        raise CodeError(message, call.line, hint=f"Write {call.method}({usage}).") from error
    bound.apply_defaults()
    return dict(bound.arguments)


_KINDS = {"cols": inspect.Parameter.VAR_POSITIONAL}
"""Parameters that take any number of arguments. The methods get them as one tuple."""


# --- the methods --------------------------------------------------------------------------------------------------


def _rename(call: Call, columns: Any) -> Ops:
    return [{"op": "rename", "columns": columns}]


def _rename_one(call: Call, existing: Any, new: Any) -> Ops:
    return [{"op": "rename", "columns": {_name(call, existing): new}}]


def _cast(call: Call, columns: Any) -> Ops:
    return [{"op": "cast", "columns": columns}]


def _select(call: Call, cols: Any) -> Ops:
    computed: dict[str, str] = {}
    names: list[str] = []
    for col in _flat(cols):
        if isinstance(col, Tree) and col.name in (".alias", ".name") and len(col.args) == 2:
            value, name = col.args
            computed[_name(call, name)] = write_expression(value, col.line)
            names.append(name)
        else:
            names.append(_name(call, col))
    derived: Ops = [{"op": "derive", "columns": computed}] if computed else []
    return [*derived, {"op": "select", "columns": names}]


def _drop(call: Call, cols: Any) -> Ops:
    return [{"op": "drop", "columns": [_name(call, col) for col in _flat(cols)]}]


def _with_column(call: Call, col_name: Any, col: Any) -> Ops:
    return _with_columns(call, {_name(call, col_name): col})


def _with_columns(call: Call, cols_map: Any) -> Ops:
    return [{"op": "derive", "columns": {name: write_expression(col, call.line) for name, col in _map(call, cols_map)}}]


def _filter(call: Call, condition: Any) -> Ops:
    where = condition if isinstance(condition, str) else write_expression(condition, call.line)
    return [{"op": "filter", "where": where}]


def _fill(call: Call, value: Any, subset: Any = None) -> Ops:
    if isinstance(value, dict):
        return [{"op": "fillNull", "columns": value}]
    if subset is None:
        hint = 'Write fillna(0, subset=["a", "b"]) or fillna({"a": 0, "b": ""}).'
        raise CodeError(f"{call.method}() of one value needs the columns.", call.line, hint=hint)
    return [{"op": "fillNull", "columns": {_name(call, name): value for name in _flat([subset])}}]


def _drop_nulls(call: Call, subset: Any) -> Ops:
    tests = [f"{column_name(_name(call, name))} IS NOT NULL" for name in _flat([subset])]
    return [{"op": "filter", "where": " AND ".join(tests)}]


def _trim(call: Call, cols: Any) -> Ops:
    return [{"op": "trim", "columns": [_name(call, col) for col in _flat(cols)]}]


def _deduplicate(call: Call, keys: Any, order_by: Any = None) -> Ops:
    order = {} if order_by is None else {"orderBy": _name(call, order_by)}
    return [{"op": "deduplicate", "keys": [_name(call, key) for key in _flat([keys])], **order}]


def _drop_duplicates(call: Call, subset: Any) -> Ops:
    return _deduplicate(call, subset)


def _join(call: Call, other: Any, on: Any, how: Any = "inner", columns: Any = None) -> Ops:
    if not isinstance(other, str):
        hint = 'Write the ID of the node, such as join("customers", on={"customer_id": "id"}, …).'
        raise CodeError("join() takes another node of the pipeline.", call.line, hint=hint)
    keys = on if isinstance(on, dict) else {_name(call, key): _name(call, key) for key in _flat([on])}
    kind = _JOINS.get(how, how) if isinstance(how, str) else how
    added = {} if columns is None else {"columns": columns}
    return [{"op": "join", "with": other, "type": kind, "on": keys, **added}]


def _union(call: Call) -> Ops:
    return [{"op": "union"}]


_JOINS = {"left_outer": "left", "leftouter": "left", "left_semi": "semi", "leftsemi": "semi"} | {
    "left_anti": "anti",
    "leftanti": "anti",
}

METHODS: KindTable[Callable[..., Ops]] = KindTable(
    "method",
    (
        ("rename", _rename),
        ("withColumnsRenamed", _rename),
        ("withColumnRenamed", _rename_one),
        ("cast", _cast),
        ("select", _select),
        ("drop", _drop),
        ("withColumn", _with_column),
        ("withColumns", _with_columns),
        ("filter", _filter),
        ("where", _filter),
        ("fillna", _fill),
        ("fillNull", _fill),
        ("dropna", _drop_nulls),
        ("trim", _trim),
        ("deduplicate", _deduplicate),
        ("dropDuplicates", _drop_duplicates),
        ("drop_duplicates", _drop_duplicates),
        ("join", _join),
        ("union", _union),
    ),
)

_NO_ROWS = "Transforms are written without rows. Look at rows in the preview of the node in the editor."
_NOT_NEEDED = "Flow decides this. Remove the call."
_NO_ORDER = "Tables have no order, and every row is loaded. Use filter() to leave rows out."
_GROUPS = "Use aggregate(…) with its fields by name."
_ONE_INPUT = "The code of a node has one stream of rows. Only join() looks into another node."
_ALL_INPUTS = "Use union() as the first call. It unites the rows of all inputs of the node by the names of the columns."
ALTERNATIVES: Mapping[str, str] = {
    **dict.fromkeys(("show", "collect", "count", "take", "head", "first", "toPandas", "toArrow", "describe"), _NO_ROWS),
    **dict.fromkeys(("cache", "persist", "checkpoint", "repartition", "coalesce"), _NOT_NEEDED),
    **dict.fromkeys(("write", "writeTo", "createOrReplaceTempView"), "The target node of the pipeline loads the rows."),
    **dict.fromkeys(("orderBy", "sort", "limit", "sample"), _NO_ORDER),
    **dict.fromkeys(("groupBy", "groupby", "agg", "rollup", "cube", "pivot"), _GROUPS),
    **dict.fromkeys(("intersect", "subtract", "crossJoin"), _ONE_INPUT),
    **dict.fromkeys(("unionAll", "unionByName"), _ALL_INPUTS),
    "distinct": 'Use deduplicate(keys=["…"]), which names the columns that identify a row.',
    "selectExpr": "Use withColumns({…: F.expr(…)}) and select().",
    "alias": 'Name the columns of a reference in join(columns={"name": "new_name"}).',
    "toDF": "Use rename({…}).",
    "map": "User-defined functions do not run. Use functions of F in withColumns().",
    "mapInPandas": "User-defined functions do not run. Use functions of F in withColumns().",
}
"""Alternatives to methods that users are likely to try."""


# --- operations by their own names --------------------------------------------------------------------------------


def _op_name(method: str) -> str | None:
    return next((name for name in OPS if method in (name, _snake(name))), None)


def _spellings(name: str) -> dict[str, str]:
    """Return the fields of an operation by the names that code may give them: `orderBy`, `order_by`, `with_`."""
    fields = {str(field.alias): key for key, field in OPS[name].model_fields.items() if key != "op"}
    return {spelled: alias for alias, key in fields.items() for spelled in (alias, key)}


def _has_only_fields(call: Call, name: str) -> bool:
    """Return whether a method with the name of an operation is called with the fields of that operation by name."""
    return not call.args and bool(call.kwargs) and call.kwargs.keys() <= _spellings(name).keys()


def _generic(call: Call, name: str) -> dict[str, Any]:
    """Return an operation from its fields: in Python as keywords, in TypeScript as one object."""
    fields, given = _spellings(name), call.kwargs
    if len(call.args) == 1 and isinstance(call.args[0], dict) and not given:
        given = call.args[0]
    elif call.args:
        known = listed(dict.fromkeys(fields.values()))
        raise CodeError(f"{call.method}() takes its fields by name: {known}.", call.line)
    return {"op": name} | {fields.get(key, key): _plain(value) for key, value in given.items()}


def _plain(value: Any) -> Any:
    """Return a field with its columns as the text of expressions."""
    if isinstance(value, Tree):
        return _column_of(value) or write(value).text
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _unknown(call: Call) -> CodeError:
    hint = ALTERNATIVES.get(call.method)
    if hint is None:
        near = guess(call.method, [*METHODS, *OPS])
        hint = f"Did you mean {near}()?" if near else f"Methods: {listed(sorted({*METHODS, *OPS}))}."
    return CodeError(f"Data frames have no method {call.method}() here.", call.line, hint=hint)


# --- arguments ----------------------------------------------------------------------------------------------------


def _name(call: Call, value: Any) -> str:
    """Return the name of a column, given as text or as F.col."""
    name = _column_of(value) if isinstance(value, Tree) else value
    if not isinstance(name, str):
        what = "an expression" if isinstance(value, Tree) else shown(value)
        hint = "Compute it in withColumns() first, or in select() give it a name with alias()."
        raise CodeError(f"{call.method}() takes the names of columns, not {what}.", call.line, hint=hint)
    return name


def _column_of(tree: Tree) -> str | None:
    is_name = tree.name in ("col", "column") and len(tree.args) == 1 and isinstance(tree.args[0], str)
    return tree.args[0] if is_name else None


def _flat(values: Any) -> list[Any]:
    """Return arguments that may be given one after the other or as a list."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def _map(call: Call, value: Any) -> Any:
    if not isinstance(value, dict):
        raise CodeError(f"{call.method}() takes columns by name.", call.line, hint='Write {"name": F.col("…")}.')
    return value.items()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)
