import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsBetween } from "./numbers.js";

const numbers = { north: { in: 4, out: 3 }, south: { in: 2, out: 2 }, all: { in: 5, out: 5 } };
const north = { id: "north" };

test("an edge has the rows that its reader got, and one of several that are united the rows of its own node", () => {
  assert.equal(rowsBetween(numbers, north, { id: "all", unites: false }), 5);
  assert.equal(rowsBetween(numbers, north, { id: "all", unites: true }), 3);
  assert.equal(rowsBetween(numbers, { id: "south" }, { id: "all", unites: true }), 2);
});

test("an edge has no rows if one of its nodes was not in the run", () => {
  assert.equal(rowsBetween(undefined, north, { id: "all" }), undefined);
  assert.equal(rowsBetween(numbers, north, { id: "new" }), undefined);
  assert.equal(rowsBetween(numbers, { id: "new" }, { id: "all", unites: true }), undefined);
  assert.equal(rowsBetween(numbers, north, { id: "new", unites: true }), undefined);
});
