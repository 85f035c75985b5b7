import assert from "node:assert/strict";
import { test } from "node:test";
import { changeBetween, offsetInLine, separatorOf, stepsOf } from "./places.js";

test("the separator is CRLF only if every line ends with it", () => {
  assert.deepEqual(["a\r\nb\r\n", "a\nb", "a", "a\r\nb\n", "a\rb\r\n"].map(separatorOf), ["\r\n", "\n", "\n", "\n", "\n"]);
});

test("the change between two texts makes one of the other, whatever they are", () => {
  let seed = 3;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const word = () => Array.from({ length: random(9) }, () => "ab"[random(2)]).join("");
  for (let i = 0; i < 2000; i++) {
    const [old, text] = [word(), word()];
    const change = changeBetween(old, text) ?? { from: 0, to: 0, insert: "" };
    assert.equal(old.slice(0, change.from) + change.insert + old.slice(change.to), text);
  }
});

test("columns count characters, offsets count UTF-16 units", () => {
  assert.deepEqual([offsetInLine("a😀b", 1), offsetInLine("a😀b", 3), offsetInLine("ab", 9)], [0, 3, 2]);
});

test("pointers are read with their escapes", () => {
  assert.deepEqual(stepsOf("/a~1b/~01/0"), ["a/b", "~1", "0"]);
  assert.deepEqual(stepsOf(""), []);
});
