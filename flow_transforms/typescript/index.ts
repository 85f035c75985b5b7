/** Write the transforms of a pipeline in TypeScript. `flow compile` records what a function does. */

import type { Column } from "./columns.ts";
import type { Operations } from "./names.ts";
import { currentLine, encode } from "./recording.ts";

export { type Column, col, date, decimal, expr, F, lit, type Value, type When, when } from "./columns.ts";
export { TransformError } from "./recording.ts";

type Names = Readonly<Record<string, string>>;
type Scalar = string | number | boolean;
type OneOrMore = string | readonly string[];

/** The rows of a node after some operations. Each call returns another one. */
export interface DataFrame extends Operations<DataFrame> {
  rename(columns: Names): DataFrame;
  withColumnRenamed(existing: string, renamed: string): DataFrame;
  withColumnsRenamed(columns: Names): DataFrame;
  cast(columns: Readonly<Record<string, string | { type: string; [field: string]: unknown }>>): DataFrame;
  select(...columns: readonly (string | Column)[]): DataFrame;
  drop(...columns: readonly (string | Column)[]): DataFrame;
  withColumn(name: string, column: Column): DataFrame;
  withColumns(columns: Readonly<Record<string, Column>>): DataFrame;
  filter(condition: Column | string): DataFrame;
  where(condition: Column | string): DataFrame;
  fillna(values: Readonly<Record<string, Scalar>>): DataFrame;
  fillna(value: Scalar, subset: OneOrMore): DataFrame;
  fillNull(values: Readonly<Record<string, Scalar>>): DataFrame;
  dropna(subset: OneOrMore): DataFrame;
  trim(...columns: readonly string[]): DataFrame;
  deduplicate(keys: OneOrMore, orderBy?: string): DataFrame;
  dropDuplicates(subset: OneOrMore): DataFrame;
  join(
    reference: string,
    on: OneOrMore | Names,
    how?: "left" | "inner" | "semi" | "anti",
    columns?: Names,
  ): DataFrame;
  /** Unite the rows of all inputs of the node, by the names of their columns. The first call of a node. */
  union(): DataFrame;
}

type Call = { method: string; after: number; line: number; args: unknown[]; kwargs: object };
type Pipeline = { pipeline: string; node: string; line: number; make: (df: DataFrame) => DataFrame };

const declared: Pipeline[] = [];
const STATE = Symbol("state");

/** Declare that a function makes the transforms of a node of a pipeline. */
export function pipeline(
  id: string,
  make: (df: DataFrame) => DataFrame,
  { node = "shape" }: { node?: string } = {},
): void {
  declared.push({ pipeline: id, node, line: currentLine(), make });
}

function frame(calls: Call[], position: number): any {
  return new Proxy(Object.create(null), {
    get(_, method) {
      if (method === STATE) return { calls, position };
      if (typeof method === "symbol") return undefined;
      return (...args: unknown[]) => {
        calls.push({ method, after: position, line: currentLine(), args: args.map(encode), kwargs: {} });
        return frame(calls, calls.length);
      };
    },
  });
}

/** Call the declared functions; return what they recorded. */
export function recordAll(): object[] {
  return declared.map(({ pipeline, node, line, make }) => {
    const calls: Call[] = [];
    const state = (make(frame(calls, 0)) as any)?.[STATE];
    return { pipeline, node, line, calls, returned: state?.calls === calls ? state.position : null };
  });
}
