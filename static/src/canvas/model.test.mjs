import assert from "node:assert/strict";
import { test } from "node:test";
import { addNode, connect, drawnEdges, drawnNodes, insertNode, kindsBetween, looseEnd, move, reconnect, remove, replacedBy, unplaced } from "./model.js";

const flow = () => ({
  kind: "pipeline",
  nodes: [
    { id: "files", kind: "source", connector: "local_fs", config: { path: "in/", pattern: { type: "glob", value: "*.csv" } } },
    { id: "shape", kind: "transform", inputs: ["files"], ops: [{ op: "trim", columns: ["a"] }], ui: { x: 10, y: 20 } },
    { id: "check", kind: "validate", inputs: ["shape"], rowLevel: [], datasetLevel: { rowCount: [{}, {}], freshness: {} } },
    { id: "load", kind: "target", inputs: ["check"], schema: "public", table: "t", loadMode: "upsert" },
  ],
});

// As the server describes them.
const kinds = [
  { kind: "source", firstId: "source", fields: { connector: "files" }, readBy: ["transform", "validate", "target"] },
  { kind: "transform", firstId: "transform", fields: { inputs: [], ops: [] }, readBy: ["transform", "validate", "target"] },
  { kind: "validate", firstId: "check", fields: { inputs: [], rowLevel: [] }, readBy: ["validate", "target"] },
  { kind: "target", firstId: "load", fields: { inputs: [], connection: "warehouse" }, readBy: [] },
];

// What the server does with a patch, on plain values.
function apply(document, patch) {
  const result = structuredClone(document);
  for (const { op, path, value } of patch) {
    const steps = path.split("/").slice(1);
    const last = steps.pop();
    const holder = steps.reduce((part, step) => part[step], result);
    if (op === "test") assert.deepEqual(holder[last], value, `test ${path}`);
    else if (op === "replace") holder[last] = value;
    else if (op === "remove") Array.isArray(holder) ? holder.splice(Number(last), 1) : delete holder[last];
    else if (Array.isArray(holder)) holder.splice(last === "-" ? holder.length : Number(last), 0, value);
    else holder[last] = value;
  }
  return result;
}

const ids = (document) => document.nodes.map(({ id }) => id);

test("each kind says in one line what it does", () => {
  assert.deepEqual(drawnNodes(flow()).map(({ summary }) => summary), [
    "in/*.csv", "1 operation", "no row rules, 3 checks", "public.t · upsert",
  ]);
});

test("a node counts the diagnostics at and below its place, and not those of node 10 for node 1", () => {
  const diagnostics = [
    { path: "/nodes/1", severity: "error" },
    { path: "/nodes/1/ops/0", severity: "warning" },
    { path: "/nodes/10/ops", severity: "error" },
  ];
  const { errors, warnings } = drawnNodes(flow(), diagnostics)[1];
  assert.deepEqual({ errors, warnings }, { errors: 1, warnings: 1 });
});

test("edges come from inputs, and inputs that name nothing draw none", () => {
  const document = flow();
  document.nodes[3].inputs.push("nobody");
  assert.deepEqual(drawnEdges(drawnNodes(document)).map(({ source, target }) => [source, target]), [
    ["files", "shape"], ["shape", "check"], ["check", "load"],
  ]);
});

test("faulty documents are drawn as far as they go", () => {
  for (const document of [null, [], {}, { nodes: {} }, { nodes: [null, 1, "x", []] }]) assert.deepEqual(drawnNodes(document), []);
  const odd = { nodes: [{}, { id: 7, kind: 8, inputs: "x", ui: { x: "1" }, name: 3 }, { id: "a", kind: "nowhere" }, { id: "a", kind: "source", config: 1 }] };
  assert.deepEqual(drawnNodes(odd).map(({ key }) => key), ["#0", "#1", "a", "#3"]);
});

test("a new node gets a free id, a place in whole numbers, and reads from the node chosen before", () => {
  const document = flow();
  const { patch, id } = addNode(document, kinds, "target", { x: 1.6, y: -0.2 }, "shape");
  const node = apply(document, patch).nodes.at(-1);
  assert.equal(id, "load_2");
  assert.deepEqual([node.id, node.inputs, node.ui], ["load_2", ["shape"], { x: 2, y: 0 }]);
  assert.equal(JSON.stringify(node.ui), '{"x":2,"y":0}');
});

test("a new node holds what the server says, and a copy of it", () => {
  const node = addNode(flow(), kinds, "target").patch[0].value;
  assert.deepEqual(node, { id: "load_2", kind: "target", inputs: [], connection: "warehouse" });
  assert.notEqual(node.inputs, kinds[3].fields.inputs);
});

test("a node is inserted on an edge by kinds that may stand there", () => {
  const [files, shape, check, load] = drawnNodes(flow());
  const between = (from, to) => kindsBetween(kinds, from, to).map(({ kind }) => kind);
  assert.deepEqual(between(files, shape), ["transform"]);
  assert.deepEqual(between(shape, check), ["transform", "validate"]);
  assert.deepEqual(between(check, load), ["validate"]);
  const { patch, id } = insertNode(flow(), kinds, "transform", { x: 3, y: 4 }, { source: "shape", target: "check", index: 0 });
  const after = apply(flow(), patch);
  assert.deepEqual([after.nodes[2].inputs, after.nodes[4].inputs, after.nodes[4].ui], [[id], ["shape"], { x: 3, y: 4 }]);
  assert.equal(insertNode(flow(), kinds, "transform", null, { source: "files", target: "load", index: 0 }), null);
});

test("either end of an edge is dragged to another node", () => {
  const edge = { source: "check", target: "load", index: 0 };
  assert.deepEqual(apply(flow(), reconnect(flow(), edge, "shape", "load")).nodes[3].inputs, ["shape"]);
  const document = flow();
  document.nodes.push({ id: "other", kind: "target", inputs: [] });
  const after = apply(document, reconnect(document, edge, "check", "other"));
  assert.deepEqual([after.nodes[3].inputs, after.nodes[4].inputs], [[], ["check"]]);
  assert.equal(reconnect(flow(), edge, "check", "load"), null);
});

test("nodes without a place are fixed where the canvas shows them", () => {
  const shown = { files: { x: 0, y: 0 }, shape: { x: 10, y: 20 }, check: { x: 7, y: 7 } };
  assert.deepEqual(unplaced(flow(), shown), { files: { x: 0, y: 0 }, check: { x: 7, y: 7 } });
});

test("nothing reads from a target, and a source reads from nothing", () => {
  assert.deepEqual(apply(flow(), addNode(flow(), kinds, "validate", null, "load").patch).nodes.at(-1).inputs, []);
  assert.equal(apply(flow(), addNode(flow(), kinds, "source", null, "shape").patch).nodes.at(-1).inputs, undefined);
});

test("the loose end is the only node that nothing reads from and that the new one may read from", () => {
  const loose = (kind, ...nodes) => looseEnd(drawnNodes({ nodes }), kinds, kind);
  const [source, check] = [{ id: "a", kind: "source" }, { id: "b", kind: "validate", inputs: ["a"] }];
  assert.equal(loose("validate", source), "a");
  assert.equal(loose("target", source, check), "b");
  assert.equal(loose("transform", source, check), null);
  assert.equal(loose("source", source), null);
  assert.equal(loose("target", source, { id: "c", kind: "source" }), null);
});

test("a document without nodes gets its first one", () => {
  assert.deepEqual(ids(apply({ kind: "pipeline" }, addNode({ kind: "pipeline" }, kinds, "source").patch)), ["source"]);
});

test("a new edge takes the place of the old one, as a node reads from one node", () => {
  const document = flow();
  delete document.nodes[2].inputs;
  assert.deepEqual(apply(document, connect(document, "files", "check")).nodes[2].inputs, ["files"]);
  assert.deepEqual(apply(document, connect(document, "files", "load")).nodes[3].inputs, ["files"]);
  document.nodes[3].inputs = ["check", "files"];
  assert.deepEqual(apply(document, connect(document, "files", "load")).nodes[3].inputs, ["files"]);
  assert.equal(connect(document, "files", "shape"), null, "it is that edge already");
  assert.equal(connect(document, "shape", "shape"), null);
  assert.equal(connect(document, "nobody", "shape"), null);
});

const joined = () => {
  const document = flow();
  document.nodes.push({ id: "names", kind: "source" }, { id: "codes", kind: "source" });
  return apply(document, connect(document, "names", "shape"));
};

test("a second edge to a transform joins with the node that it comes from", () => {
  const after = joined();
  const { inputs, ops } = after.nodes[1];
  assert.deepEqual(inputs, ["files", "names"]);
  assert.deepEqual(ops.at(-1), { op: "join", with: "names", type: "left", on: {}, columns: {} });
  assert.equal(connect(after, "names", "shape"), null);
  assert.equal(replacedBy(drawnNodes(after), "codes", "shape"), "");
  assert.equal(replacedBy(drawnNodes(after), "shape", "load"), "check");
});

test("a second edge to a transform that unites rows is a further input", () => {
  const document = flow();
  document.nodes.push({ id: "names", kind: "source" }, { id: "codes", kind: "source" });
  document.nodes[1].ops = [{ op: "union" }];
  const after = apply(document, connect(document, "names", "shape"));
  assert.deepEqual([after.nodes[1].inputs, after.nodes[1].ops], [["files", "names"], [{ op: "union" }]]);
  assert.equal(replacedBy(drawnNodes(after), "codes", "shape"), "");
  const cut = apply(after, remove(after, [], [{ source: "files", target: "shape", index: 0 }]));
  assert.deepEqual([cut.nodes[1].inputs, cut.nodes[1].ops], [["names"], [{ op: "union" }]]);
  const { patch, id } = insertNode(after, kinds, "transform", null, { source: "names", target: "shape", index: 1 });
  assert.deepEqual(apply(after, patch).nodes[1].inputs, ["files", id]);
});

test("further inputs are references, except those of a transform that unites rows", () => {
  const references = (document) => drawnEdges(drawnNodes(document)).map(({ source, isReference }) => isReference && source).filter(Boolean);
  const document = joined();
  assert.deepEqual(references(document), ["names"]);
  document.nodes[1].ops = [{ op: "union" }];
  assert.deepEqual(references(document), []);
});

test("a join goes with its edge, or with the node that it looks rows up in", () => {
  const before = flow().nodes[1];
  const edge = { source: "names", target: "shape", index: 1 };
  for (const patch of [remove(joined(), [], [edge]), remove(joined(), ["names"])]) {
    const { inputs, ops } = apply(joined(), patch).nodes[1];
    assert.deepEqual([inputs, ops], [before.inputs, before.ops ?? []]);
  }
});

test("a join follows the edge that is dragged to another node, or on which one is inserted", () => {
  const edge = { source: "names", target: "shape", index: 1 };
  const moved = apply(joined(), reconnect(joined(), edge, "codes", "shape")).nodes[1];
  assert.deepEqual([moved.inputs, moved.ops.at(-1).with], [["files", "codes"], "codes"]);
  const { patch, id } = insertNode(joined(), kinds, "transform", null, edge);
  const inserted = apply(joined(), patch);
  assert.deepEqual([inserted.nodes[1].inputs, inserted.nodes[1].ops.at(-1).with], [["files", id], id]);
  assert.deepEqual(inserted.nodes.at(-1).inputs, ["names"]);
});

test("the rows of a node that joins can come from another node", () => {
  const main = { source: "files", target: "shape", index: 0 };
  assert.deepEqual(apply(joined(), reconnect(joined(), main, "codes", "shape")).nodes[1].inputs, ["codes", "names"]);
});

test("a deleted node goes with the edges from it", () => {
  const after = apply(flow(), remove(flow(), ["shape"]));
  assert.deepEqual(ids(after), ["files", "check", "load"]);
  assert.deepEqual(after.nodes[1].inputs, []);
});

test("several nodes and edges go at once", () => {
  const document = flow();
  document.nodes[3].inputs = ["files", "check", "shape"];
  const edge = { source: "check", target: "load", index: 1 };
  const after = apply(document, remove(document, ["files", "shape"], [edge]));
  assert.deepEqual(ids(after), ["check", "load"]);
  assert.deepEqual(after.nodes.map(({ inputs }) => inputs), [[], []]);
});

test("the second of two nodes of one id goes without the edges of the first", () => {
  const document = { nodes: [{ id: "a", kind: "source" }, { id: "a", kind: "source" }, { id: "b", kind: "target", inputs: ["a"] }] };
  const after = apply(document, remove(document, ["#1"]));
  assert.deepEqual(ids(after), ["a", "b"]);
  assert.deepEqual(after.nodes[1].inputs, ["a"]);
});

test("what was changed elsewhere meanwhile is not deleted", () => {
  const patch = remove(flow(), ["shape"]);
  const other = flow();
  other.nodes.shift();
  assert.throws(() => apply(other, patch), /test/);
});

test("moving writes places alone, and only of nodes that moved", () => {
  const document = flow();
  const patch = move(document, { files: { x: 5.4, y: 6 }, shape: { x: 10.2, y: 20 } });
  assert.deepEqual(patch.filter(({ op }) => op !== "test"), [{ op: "add", path: "/nodes/0/ui", value: { x: 5, y: 6 } }]);
  assert.equal(move(document, { shape: { x: 10, y: 20 } }), null);
});

test("random actions keep the document's other parts as they were", () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  let document = flow();
  for (let i = 0; i < 500; i++) {
    const keys = drawnNodes(document).map(({ key }) => key);
    const pick = () => keys[random(keys.length || 1)] ?? null;
    const actions = [
      () => addNode(document, kinds, ["source", "transform", "validate", "target"][random(4)], { x: random(900), y: random(900) }, pick()).patch,
      () => insertNode(document, kinds, "transform", null, { source: pick(), target: pick(), index: 0 })?.patch,
      () => connect(document, pick(), pick()),
      () => reconnect(document, drawnEdges(drawnNodes(document))[0] ?? {}, pick(), pick()),
      () => remove(document, [pick()]),
      () => remove(document, [], drawnEdges(drawnNodes(document)).slice(0, 1)),
      () => move(document, { [pick()]: { x: random(900), y: random(900) } }),
    ];
    const patch = actions[random(actions.length)]();
    document = patch ? apply(document, patch) : document;
    const known = new Set(ids(document));
    assert.equal(known.size, document.nodes.length, "ids stay unique");
    assert.equal(document.kind, "pipeline");
    for (const node of document.nodes) for (const input of node.inputs ?? []) assert.ok(known.has(input), "no edge from nothing");
  }
});
