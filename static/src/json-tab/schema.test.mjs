import assert from "node:assert/strict";
import { test } from "node:test";
import { membersOf, schemasAt, valuesOf, wordsOf } from "./schema.js";

const SCHEMA = {
  $ref: "#/$defs/Pipeline",
  $defs: {
    Pipeline: { properties: { id: { type: "string" }, nodes: { type: "array", items: { oneOf: [{ $ref: "#/$defs/Source" }, { $ref: "#/$defs/Target" }] } } } },
    Source: {
      type: "object",
      properties: { kind: { const: "source" }, connector: { type: "string" }, config: { type: "object" } },
      allOf: [{ if: { properties: { connector: { const: "files" } }, required: ["connector"] }, then: { properties: { config: { $ref: "#/$defs/Files" } } } }],
    },
    Target: {
      type: "object",
      properties: { kind: { const: "target" }, mode: { enum: ["append", "upsert"], title: "Load mode" }, strict: { type: "boolean", default: true }, wait: { type: "number", title: "Wait", unit: "s" }, hook: { title: "Hooks", oneOf: [{ $ref: "#/$defs/Hook" }, { type: "array", items: { $ref: "#/$defs/Hook" } }] } },
    },
    Hook: { type: "object", title: "A hook", description: "Runs SQL.", properties: { sql: { type: "string" } } },
    Files: { type: "object", description: "Files of a folder.", properties: { path: { type: "string" } }, additionalProperties: { type: "integer" } },
  },
};
const at = (value, ...path) => schemasAt(SCHEMA, value, path);
const keys = (value, ...path) => [...membersOf(SCHEMA, at(value, ...path), path.reduce((part, step) => part?.[step], value)).keys()];

test("a node has the members of its kind; without a kind those of all", () => {
  assert.deepEqual(keys({ nodes: [{ kind: "target" }] }, "nodes", 0), ["kind", "mode", "strict", "wait", "hook"]);
  assert.deepEqual(keys({ nodes: [{}] }, "nodes", 0), ["kind", "connector", "config", "mode", "strict", "wait", "hook"]);
  assert.deepEqual(keys({ nodes: [{ kind: "nowhere" }] }, "nodes", 0).length, 7);
});

test("the values of a place are those that the schema names", () => {
  assert.deepEqual(valuesOf(at({ nodes: [{ kind: "target" }] }, "nodes", 0, "mode")), ["append", "upsert"]);
  assert.deepEqual(valuesOf(at({ nodes: [{ kind: "target" }] }, "nodes", 0, "strict")), [true, false]);
  assert.deepEqual(valuesOf(at({ nodes: [{}] }, "nodes", 0, "kind")), ["source", "target"]);
});

test("a condition adds its members only where it holds", () => {
  assert.deepEqual(keys({ nodes: [{ kind: "source", connector: "files", config: {} }] }, "nodes", 0, "config"), ["path"]);
  assert.deepEqual(keys({ nodes: [{ kind: "source", connector: "other", config: {} }] }, "nodes", 0, "config"), []);
});

test("one or a list of them: the value decides", () => {
  assert.deepEqual(keys({ nodes: [{ kind: "target", hook: {} }] }, "nodes", 0, "hook"), ["sql"]);
  assert.deepEqual(keys({ nodes: [{ kind: "target", hook: [{}] }] }, "nodes", 0, "hook", 0), ["sql"]);
  assert.deepEqual(keys({ nodes: [{ kind: "target", hook: [] }] }, "nodes", 0, "hook"), []);
});

test("keys that are not named have the schema of additional members", () => {
  assert.deepEqual(wordsOf(at({ nodes: [{ kind: "source", connector: "files", config: { x: 1 } }] }, "nodes", 0, "config", "x")).type, "integer");
});

test("a place is called by its own title with its unit, else by that of what stands there", () => {
  assert.equal(wordsOf(at({ nodes: [{ kind: "target" }] }, "nodes", 0, "wait")).title, "Wait (s)");
  const { title, description } = wordsOf(at({ nodes: [{ kind: "target", hook: {} }] }, "nodes", 0, "hook"));
  assert.deepEqual([title, description], ["Hooks", "Runs SQL."]);
});

test("places that the schema does not know have none", () => {
  assert.deepEqual(at({ id: "x" }, "id", "deeper"), []);
  assert.deepEqual(at(null, "nowhere", 3), []);
});
