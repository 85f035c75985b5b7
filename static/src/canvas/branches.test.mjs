import assert from "node:assert/strict";
import { test } from "node:test";
import { branchTo } from "./branches.js";
import { pasteNodes } from "./clipboard.js";
import { addNode, connect, drawnNodes, insertNode, reconnect, remove } from "./model.js";

const branching = () => ({
  id: "orders",
  nodes: [
    { id: "files", kind: "source" },
    { id: "route", kind: "branch", inputs: ["files"], branches: [{ to: "eu", where: "region = 'EU'" }, { to: "us", where: "region = 'US'" }], default: "rest" },
    { id: "eu", kind: "target", inputs: ["route"] },
    { id: "us", kind: "target", inputs: ["route"] },
    { id: "rest", kind: "target", inputs: ["route"] },
    { id: "new", kind: "target", inputs: ["files"] },
  ],
});

const kinds = ["source", "transform", "branch", "target"].map((kind) => ({
  kind, firstId: kind, fields: kind === "source" ? {} : { inputs: [] }, readBy: kind === "target" ? [] : ["transform", "branch", "target"],
}));

const written = (patch) => patch.filter(({ op }) => op !== "test").map(({ op, path, value }) => [op, path, value].filter((part) => part !== undefined));

test("an edge says which rows take it", () => {
  const route = drawnNodes(branching())[1];
  assert.deepEqual(["eu", "us", "rest", "new"].map((id) => branchTo(route, id)), ["region = 'EU'", "region = 'US'", "otherwise", ""]);
});

test("an edge from a branch node adds a branch, once", () => {
  assert.deepEqual(written(connect(branching(), "route", "new")), [
    ["replace", "/nodes/5/inputs", ["route"]],
    ["add", "/nodes/1/branches/-", { to: "new", where: "" }],
  ]);
  const { patch } = addNode(branching(), kinds, "target", null, "route");
  assert.deepEqual(written(patch)[0], ["add", "/nodes/1/branches/-", { to: "target", where: "" }]);
});

test("a branch follows a node that is inserted on its edge", () => {
  const { patch, id } = insertNode(branching(), kinds, "transform", null, { source: "route", target: "rest", index: 0 });
  assert.deepEqual(written(patch)[1], ["replace", "/nodes/1/default", id]);
});

test("branches go with the nodes and edges that they lead to", () => {
  assert.deepEqual(written(remove(branching(), ["eu", "us"])).slice(0, 2), [["remove", "/nodes/1/branches/1"], ["remove", "/nodes/1/branches/0"]]);
  assert.deepEqual(written(remove(branching(), [], [{ source: "route", target: "rest", index: 0 }])), [
    ["remove", "/nodes/4/inputs/0"],
    ["remove", "/nodes/1/default"],
  ]);
  assert.deepEqual(written(reconnect(branching(), { source: "route", target: "us", index: 0 }, "files", "us")), [
    ["replace", "/nodes/3/inputs", ["files"]],
    ["remove", "/nodes/1/branches/1"],
  ]);
});

test("copied branches lead to the copies", () => {
  const { nodes } = branching();
  const { patch } = pasteNodes(branching(), { pipeline: "orders", nodes: nodes.slice(1, 3) }, { x: 0, y: 0 });
  assert.deepEqual(patch[0].value.branches, [{ to: patch[1].value.id, where: "region = 'EU'" }]);
  assert.equal(patch[0].value.default, undefined);
});
