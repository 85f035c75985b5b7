import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, NODE, placesOf, runsDown } from "./layout.js";

const nodesOf = (...keys) => keys.map((key) => ({ key, position: null }));
const edgesOf = (...pairs) => pairs.map((pair) => ({ source: pair[0], target: pair[1] }));

function assertApart(places) {
  const all = Object.values(places);
  for (const [i, a] of all.entries())
    for (const b of all.slice(i + 1))
      assert.ok(Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height, `${JSON.stringify(a)} ${JSON.stringify(b)}`);
}

test("a chain is a row from left to right", () => {
  const places = layOut(nodesOf("c", "a", "b"), edgesOf("ab", "bc"));
  assert.ok(places.a.x < places.b.x && places.b.x < places.c.x);
  assert.equal(new Set(Object.values(places).map(({ y }) => y)).size, 1);
});

test("a node stands in the middle of what it feeds", () => {
  const { a, x, y, z } = layOut(nodesOf("a", "x", "y", "z"), edgesOf("ax", "ay", "az"));
  assert.deepEqual([x.y < y.y, y.y < z.y, a.y], [true, true, y.y]);
});

test("circles and doubled edges are laid out as well", () => {
  assertApart(layOut(nodesOf("a", "b", "c"), edgesOf("ab", "bc", "ca", "aa", "ab")));
});

test("no two nodes overlap, whatever the edges", () => {
  let seed = 11;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 60; round++) {
    const keys = [..."abcdefghijklmnop"].slice(0, 2 + random(15));
    const edges = keys.map(() => ({ source: keys[random(keys.length)], target: keys[random(keys.length)] }));
    assertApart(layOut(nodesOf(...keys), edges, round % 2 === 1));
  }
});

test("given places are kept, and nodes without one lie below them", () => {
  const nodes = [{ key: "a", position: { x: 5, y: 70 } }, { key: "b", position: null }];
  const places = placesOf(nodes, edgesOf("ab"));
  assert.deepEqual(places.a, { x: 5, y: 70 });
  assert.ok(places.b.y >= 70 + NODE.height);
});

test("edges run the way that the nodes were laid out", () => {
  const [nodes, edges] = [nodesOf("a", "b", "c"), edgesOf("ab", "ac")];
  assert.deepEqual([false, true].map((isTall) => runsDown(layOut(nodes, edges, isTall), edges)), [false, true]);
});
