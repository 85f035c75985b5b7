import assert from "node:assert/strict";
import { test } from "node:test";
import { copyNodes, pasteNodes, readNodes } from "./clipboard.js";

const flow = () => ({
  id: "orders",
  nodes: [
    { id: "files", kind: "source", config: { path: "in" } },
    { id: "check", kind: "validate", inputs: ["files"] },
    { id: "load", kind: "target", inputs: ["check"] },
  ],
});
const places = { files: { x: 0, y: 0 }, check: { x: 100.4, y: 0 }, load: { x: 200, y: 0 } };
const copied = (document, ...keys) => readNodes(copyNodes(document, keys, places));
const added = ({ patch }) => patch.map(({ value }) => value);

test("copies have new ids, read from each other, and stand beside their originals", () => {
  const document = flow();
  const pasted = pasteNodes(document, copied(document, "check", "load"), { x: 10, y: 50 });
  assert.deepEqual(pasted.ids, ["check_2", "load_2"]);
  assert.deepEqual(added(pasted).map(({ inputs, ui }) => [inputs, ui]), [
    [["files"], { x: 110, y: 50 }],
    [["check_2"], { x: 210, y: 50 }],
  ]);
});

test("copies of a join and of what it looks rows up in belong together", () => {
  const join = { op: "join", with: "names", type: "semi", on: { a: "b" } };
  const nodes = [{ id: "files", kind: "source" }, { id: "names", kind: "source" }, { id: "shape", kind: "transform", inputs: ["files", "names"], ops: [join] }];
  const document = { id: "orders", nodes };
  const { patch } = pasteNodes(document, { pipeline: "orders", nodes: nodes.slice(1) }, { x: 0, y: 0 });
  const [names, shape] = patch.map(({ value }) => value);
  assert.deepEqual([shape.inputs, shape.ops[0].with], [["files", names.id], names.id]);
});

test("copies of copies count on", () => {
  const document = flow();
  document.nodes.push({ id: "check_2", kind: "validate", inputs: [] });
  const shown = { ...places, check_2: { x: 0, y: 0 } };
  assert.deepEqual(pasteNodes(document, readNodes(copyNodes(document, ["check_2"], shown)), { x: 0, y: 0 }).ids, ["check_3"]);
});

test("in another pipeline a copy reads from no node that only has the same id", () => {
  const other = { id: "other", nodes: [{ id: "files", kind: "source" }] };
  const [node] = added(pasteNodes(other, copied(flow(), "check"), { x: 0, y: 0 }));
  assert.deepEqual([node.id, node.inputs], ["check", []]);
});

test("secrets that somebody wrote into settings are not copied", () => {
  const document = flow();
  document.nodes[0].config = { path: "in", password: "hunter2", url: "postgres://ann:hunter2@db/x", more: { apiKey: "hunter2" } };
  document.nodes[0].columns = [{ name: "password", type: "string" }];
  const text = copyNodes(document, ["files"], places);
  assert.ok(!text.includes("hunter2"));
  assert.deepEqual(readNodes(text).nodes[0].config, { path: "in", url: "postgres://ann@db/x", more: {} });
  assert.deepEqual(readNodes(text).nodes[0].columns, document.nodes[0].columns);
});

test("other texts are no nodes", () => {
  for (const text of ["", "flow/nodes", "[]", '{"format":"flow/nodes"}', '{"format":"flow/nodes","nodes":[1]}']) assert.equal(readNodes(text), null);
  assert.equal(copyNodes(flow(), ["nobody"], places), null);
});
