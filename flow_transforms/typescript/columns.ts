/** Columns: expressions over the columns of a row. */

import type { FunctionName } from "./names.ts";
import { TransformError, TREE, type Tree, tree } from "./recording.ts";

export type Value = string | number | bigint | boolean | null | Column;

/** An expression. Text that is compared or computed with is a value; `col` names a column. */
export interface Column {
  readonly [TREE]: Tree;
  eq(other: Value): Column;
  ne(other: Value): Column;
  lt(other: Value): Column;
  le(other: Value): Column;
  gt(other: Value): Column;
  ge(other: Value): Column;
  eqNullSafe(other: Value): Column;
  and(other: Column): Column;
  or(other: Column): Column;
  not(): Column;
  neg(): Column;
  add(other: Value): Column;
  sub(other: Value): Column;
  mul(other: Value): Column;
  div(other: Value): Column;
  mod(other: Value): Column;
  bitwiseAND(other: Value): Column;
  bitwiseOR(other: Value): Column;
  bitwiseXOR(other: Value): Column;
  like(pattern: string): Column;
  ilike(pattern: string): Column;
  rlike(pattern: string): Column;
  isNull(): Column;
  isNotNull(): Column;
  isin(...values: readonly Value[]): Column;
  between(low: Value, high: Value): Column;
  startswith(text: Value): Column;
  endswith(text: Value): Column;
  contains(text: Value): Column;
  substr(start: Value, length?: Value): Column;
  cast(type: string): Column;
  astype(type: string): Column;
  try_cast(type: string): Column;
  /** Give the column a name, in `select`. */
  alias(name: string): Column;
}

/** A CASE that can go on. */
export interface When extends Column {
  when(condition: Column, value: Value): When;
  otherwise(value: Value): Column;
}

/** A function of Spark SQL. Text names a column, except where PySpark takes text, such as a pattern or a format. */
export type ColumnFunction = (...args: readonly Value[]) => Column;

export type Functions = { readonly [name in FunctionName]: ColumnFunction } & {
  readonly col: typeof col;
  readonly lit: typeof lit;
  readonly expr: typeof expr;
  readonly when: typeof when;
};

function recorded(name: string, args: readonly unknown[]): any {
  const made = tree(name, args);
  return new Proxy(Object.create(null), {
    get(_, property) {
      if (property === TREE) return made;
      if (property === Symbol.toPrimitive) return refuse;
      if (typeof property === "symbol") return undefined;
      return (...more: unknown[]) => recorded(`.${property}`, [{ [TREE]: made }, ...more]);
    },
  });
}

function refuse(): never {
  throw new TransformError(
    "Operators of TypeScript cannot be recorded.",
    'Write methods: col("a").add(1), col("a").eq("x"), a.and(b).',
  );
}

/** Return a column by its name, which is taken as it is: a dot is part of it. */
export function col(name: string): Column {
  return recorded("col", [name]);
}

/** Return a literal value. */
export function lit(value: Value): Column {
  return recorded("lit", [value]);
}

/** Return a number with exactly these digits, such as `decimal("1.19")`. */
export function decimal(digits: string): Column {
  return recorded("#decimal", [digits]);
}

/** Return a date, such as `date("2025-01-31")`. */
export function date(text: string): Column {
  return recorded("#date", [text]);
}

/** Return a Spark SQL expression. */
export function expr(text: string): Column {
  return recorded("expr", [text]);
}

/** Begin a CASE; `.when(…)` adds to it, `.otherwise(…)` ends it. */
export function when(condition: Column, value: Value): When {
  return recorded("when", [condition, value]);
}

/** Functions by their names in Spark SQL: `F.upper(col("name"))`. */
export const F = new Proxy(Object.create(null), {
  get: (_, name) => (typeof name === "symbol" ? undefined : (...args: unknown[]) => recorded(name, args)),
}) as Functions;
