import assert from "node:assert/strict";
import { test } from "node:test";
import { align, layOut, makeRoom, neighbour, NODE, placesOf, runsDown, stepAside } from "./layout.js";

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

test("given positions do not change, and nodes without one are placed below them", () => {
  const nodes = [{ key: "a", position: { x: 5, y: 70 } }, { key: "b", position: null }];
  const places = placesOf(nodes, edgesOf("ab"));
  assert.deepEqual(places.a, { x: 5, y: 70 });
  assert.ok(places.b.y >= 70 + NODE.height);
});

test("edges run the way that the nodes were laid out", () => {
  const [nodes, edges] = [nodesOf("a", "b", "c"), edgesOf("ab", "ac")];
  assert.deepEqual([false, true].map((isTall) => runsDown(layOut(nodes, edges, isTall), edges)), [false, true]);
});

test("a node that is inserted gets room, and what lies behind it moves on", () => {
  const edges = edgesOf("ab", "bc", "ad");
  for (const isDown of [false, true]) {
    const places = layOut(nodesOf("a", "b", "c", "d"), edges, isDown);
    const { inserted, shifted } = makeRoom(places, edges, edges[0], isDown);
    assert.deepEqual(Object.keys(shifted).sort(), ["b", "c"]);
    assertApart({ ...places, ...shifted, inserted });
  }
});

test("arrow keys follow the edges, and lead to the nodes beside", () => {
  const [nodes, edges] = [nodesOf("a", "b", "c"), edgesOf("ab", "ac")];
  const places = layOut(nodes, edges);
  const go = (key, arrow) => neighbour(places, edges, key, arrow, false);
  assert.deepEqual([go("b", "ArrowLeft"), go("c", "ArrowLeft"), go("b", "ArrowDown"), go("c", "ArrowUp")], ["a", "a", "c", "b"]);
  assert.deepEqual([go("a", "ArrowLeft"), go("b", "ArrowRight")], [null, null]);
});

test("every node of a chain is reached by one arrow, whichever way it runs", () => {
  const [nodes, edges] = [nodesOf("a", "b", "c"), edgesOf("ab", "bc")];
  for (const isDown of [false, true]) {
    const places = layOut(nodes, edges, isDown);
    for (const arrow of ["ArrowDown", "ArrowRight"])
      assert.deepEqual([neighbour(places, edges, "a", arrow, isDown), neighbour(places, edges, "b", arrow, isDown)], ["b", "c"]);
  }
});

test("nodes are put in line, or apart by equal steps", () => {
  const places = { a: { x: 0, y: 5 }, b: { x: 40, y: 900 }, c: { x: 20, y: 300 } };
  assert.deepEqual(Object.values(align(places, ["a", "b"], "left")).map(({ x }) => x), [0, 0]);
  const { a, b, c } = align(places, ["a", "b", "c"], "down");
  assert.equal(c.y - a.y, b.y - c.y);
  assertApart({ a, b, c });
});

test("copies cover nothing", () => {
  const places = layOut(nodesOf("a", "b", "c"), edgesOf("ab", "ac"));
  const by = stepAside([places.a], places, false);
  assertApart({ ...places, copy: { x: places.a.x + by.x, y: places.a.y + by.y } });
});
