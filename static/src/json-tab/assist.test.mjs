import assert from "node:assert/strict";
import { test } from "node:test";
import { CompletionContext } from "@codemirror/autocomplete";
import { json } from "@codemirror/lang-json";
import { EditorState } from "@codemirror/state";
import { complete } from "./assist.js";

const NODE = { properties: { id: { type: "string" }, inputs: { type: "array", items: { type: "string" } } } };
const TARGET = { type: "object", properties: { ...NODE.properties, kind: { const: "target" }, mode: { enum: ["append", "upsert"] }, strict: { type: "boolean" } } };
const SCHEMA = {
  properties: {
    version: { const: "1.0" },
    nodes: { type: "array", items: { oneOf: [{ ...NODE, type: "object", properties: { ...NODE.properties, kind: { const: "source" } } }, TARGET] } },
  },
};

// `|` is where the cursor stands.
function offered(text) {
  const pos = text.indexOf("|");
  const state = EditorState.create({ doc: text.replace("|", ""), extensions: [json()] });
  return complete(SCHEMA, new CompletionContext(state, pos, true))?.options.map(({ displayLabel }) => displayLabel) ?? [];
}

test("keys are those of the node's kind that are not there yet, wherever the cursor stands between members", () => {
  const wanted = ["id", "inputs", "mode", "strict"];
  for (const text of [
    '{"nodes": [{"kind": "target", "|"}]}', '{"nodes": [{"kind": "target", |}]}', '{"nodes": [{"kind": "target", mo|}]}',
    '{"nodes": [{|"kind": "target"}]}', '{"nodes": [{"kind": "target", "|": 1}]}', '{"nodes": [{"kind": "target",\n  |\n',
  ]) assert.deepEqual(offered(text), wanted, text);
});

test("values are those that the key may have, quoted or not, begun or not", () => {
  for (const text of ['{"nodes": [{"kind": "target", "mode": "|"}]}', '{"nodes": [{"kind": "target", "mode": |}]}', '{"nodes": [{"kind": "target", "mode":|'])
    assert.deepEqual(offered(text), ["append", "upsert"], text);
  assert.deepEqual(offered('{"nodes": [{"kind": "target", "strict": tr|}]}'), ["true", "false"]);
  assert.deepEqual(offered('{"nodes": [{"kind": "|"}]}'), ["source", "target"]);
});

test("inputs are the ids of the other nodes", () => {
  for (const inner of ['"|"', "|", '"a", |'])
    assert.deepEqual(offered(`{"nodes": [{"id": "a"}, {"id": "b", "inputs": [${inner}]}, {"id": "c"}]}`), ["a", "c"], inner);
});

test("the members of the document are offered in an empty one, and nothing outside of it", () => {
  assert.deepEqual(offered("{|}"), ["version", "nodes"]);
  assert.deepEqual(offered("|"), []);
  assert.deepEqual(offered('{"version": "1.0"} |'), []);
});
