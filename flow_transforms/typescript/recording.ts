/** Trees of expressions and calls, as `flow compile` reads them, with their lines in the source. */

export const TREE = Symbol("tree");

export type Tree = { $: string; args: unknown[]; line: number };

/** A use of the builder that cannot be recorded. */
export class TransformError extends Error {
  readonly hint: string;
  readonly line: number;

  constructor(message: string, hint = "") {
    super(message);
    this.hint = hint;
    this.line = currentLine();
  }
}

let source: readonly string[] = [];

/** Name the file whose lines are recorded, as it is called in stacks: by its address, in errors of syntax by its path. */
export function setSource(...names: readonly string[]): void {
  source = names;
  (Error as { stackTraceLimit?: number }).stackTraceLimit = 100;
}

/** Return the line of the source that is running. */
export function currentLine(): number {
  return lineOf(new Error());
}

/** Return the innermost line of the source in the stack of an error; 1 if there is none. */
export function lineOf(error: Error): number {
  const stack = error.stack ?? "";
  const after = source.map((name) => stack.split(`${name}:`)[1]).find((text) => text !== undefined);
  return Number.parseInt(after ?? "", 10) || 1;
}

export function tree(name: string, args: readonly unknown[]): Tree {
  return { $: name, args: args.map(encode), line: currentLine() };
}

/** Return a value as JSON: a column as its tree. */
export function encode(value: unknown): unknown {
  if (typeof value === "bigint") return { $: "#integer", args: [String(value)], line: currentLine() };
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map(encode);
  const recorded = typeof value === "object" ? (value as { [TREE]?: Tree })[TREE] : undefined;
  if (recorded !== undefined) return recorded;
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const mapping = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, encode(item)]));
    // A column may be called $, by which trees are known.
    return "$" in mapping ? { $: "#mapping", args: [mapping], line: currentLine() } : mapping;
  }
  throw new TransformError(
    `A value of type ${value instanceof Object ? value.constructor.name : typeof value} cannot be part of a plan.`,
    "Use columns, text, numbers, true, false, null and decimal(…).",
  );
}
