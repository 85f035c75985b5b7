// Positions in JSON text, which may be incomplete: converts between nodes of the editor's syntax tree, paths and values.
import { ensureSyntaxTree, syntaxTree } from "@codemirror/language";

const VALUES = new Set(["Object", "Array", "String", "Number", "True", "False", "Null"]);

const MOST_MS = 200;

/** Return the tree of the whole text, of which the editor only parses the visible part; after a time limit, an incomplete tree. */
export function wholeTree(state) {
  return ensureSyntaxTree(state, state.doc.length, MOST_MS) ?? syntaxTree(state);
}

/** Return the readable part of the value. Use numbers for display only: large ones lose digits. */
export function valueOf(node, slice) {
  if (node.name === "JsonText") return childrenOf(node).map((child) => valueOf(child, slice))[0];
  if (node.name === "Array") return childrenOf(node).map((child) => valueOf(child, slice));
  if (node.name === "Object") {
    return Object.fromEntries(node.getChildren("Property").flatMap((property) => {
      const [value] = childrenOf(property);
      const key = keyOf(property, slice);
      return key === null || !value ? [] : [[key, valueOf(value, slice)]];
    }));
  }
  return read(slice(node));
}

/** Return the path (keys and indices) of a node. */
export function pathOf(node, slice) {
  const path = [];
  for (; node.parent; node = node.parent) {
    if (node.name === "Property") path.unshift(keyOf(node, slice) ?? "");
    else if (node.parent.name === "Array") path.unshift(childrenOf(node.parent).filter(({ to }) => to <= node.from).length);
  }
  return path;
}

/** Return the node at a path, or at the existing part of it. For a member it is the value. */
export function nodeAt(top, path, slice) {
  let node = childrenOf(top)[0] ?? top;
  for (const step of path) {
    const next = stepInto(node, step, slice);
    if (!next) break;
    node = next;
  }
  return node;
}

/** Return the offset of the pipeline node with that id, or null. */
export function placeOfNode(state, id) {
  const slice = ({ from, to }) => state.doc.sliceString(from, to);
  const list = nodeAt(wholeTree(state).topNode, ["nodes"], slice);
  const found = list.name === "Array" && childrenOf(list).find((node) => valueOf(node, slice)?.id === id);
  return found ? found.from : null;
}

function stepInto(node, step, slice) {
  if (node.name === "Array") return childrenOf(node)[Number(step)];
  const property = node.getChildren("Property").find((child) => keyOf(child, slice) === String(step));
  return property && childrenOf(property)[0];
}

/**
 * Return what can be completed at `pos`: {kind: "key" | "value", path, from, to}, or null. `path` is the path of the object for a
 * key, and of the value for a value; a completion replaces the text from `from` to `to`.
 */
export function placeAt(tree, text, pos) {
  const slice = ({ from, to }) => text.slice(from, to);
  const node = tree.resolveInner(pos, -1);
  if (node.name === "PropertyName") return { kind: "key", path: pathOf(objectOf(node), slice), from: node.from, to: node.to };
  if (VALUES.has(node.name) && !["Object", "Array"].includes(node.name)) {
    return { kind: "value", path: pathOf(node, slice), from: node.from, to: node.to };
  }
  const from = pos - /["\w$]*$/.exec(text.slice(Math.max(0, pos - 80), pos))[0].length;
  return placeBetween(tree, text.slice(0, from), { from, to: pos }, slice);
}

function placeBetween(tree, before, range, slice) {
  const sign = before.trimEnd().at(-1);
  const end = before.trimEnd().length;
  const holder = holderOf(tree.resolveInner(end, -1));
  if (!holder) return null;
  if (sign === ":") {
    const property = childOf(tree.resolveInner(end, -1), "Property");
    return property && { kind: "value", path: pathOf(property, slice), ...range };
  }
  if (sign === "{" || (sign === "," && holder.name === "Object")) return { kind: "key", path: pathOf(holder, slice), ...range };
  if (sign === "[" || sign === ",") {
    const index = childrenOf(holder).filter(({ to }) => to <= range.from).length;
    return { kind: "value", path: [...pathOf(holder, slice), index], ...range };
  }
  return null;
}

function holderOf(node) {
  while (node && node.name !== "Object" && node.name !== "Array") node = node.parent;
  return node;
}

function objectOf(node) {
  return childOf(node, "Object");
}

function childOf(node, name) {
  while (node && node.name !== name) node = node.parent;
  return node;
}

function childrenOf(node) {
  const children = [];
  for (let child = node.firstChild; child; child = child.nextSibling) if (VALUES.has(child.name)) children.push(child);
  return children;
}

function keyOf(property, slice) {
  const name = property.getChild("PropertyName");
  const key = name ? read(slice(name)) : null;
  return typeof key === "string" ? key : null;
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
