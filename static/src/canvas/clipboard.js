// Converts nodes to text for the system's clipboard, and back to a JSON Patch with new ids. References that only another
// pipeline has are omitted.
import { renamedBranches } from "./branches.js";
import { appendNodes, drawnNodes, freeId, takenIds } from "./model.js";
import { isObject, rounded } from "./plain.js";

const FORMAT = "flow/nodes";
const SECRET = /passw|secret|token|credential|api[-_]?key|private[-_]?key/i;
/** Members of a node with settings of other systems. */
const SETTINGS = ["config", "preHook", "postHook"];
const MOST_ID = 63;

/** Return the text of some nodes; null if there are none. `places` are their positions on the canvas. */
export function copyNodes(document, keys, places) {
  const copied = drawnNodes(document).filter(({ key }) => keys.includes(key));
  if (!copied.length) return null;
  const nodes = copied.map(({ key, index }) => ({ ...withoutSecrets(document.nodes[index]), ui: rounded(places[key]) }));
  return JSON.stringify({ format: FORMAT, pipeline: document.id, nodes }, null, 2);
}

/** Return the nodes in a text of `copyNodes`: {pipeline, nodes}; null for any other text. */
export function readNodes(given) {
  if (!given.includes(FORMAT)) return null;
  try {
    const { format, pipeline, nodes } = JSON.parse(given);
    return format === FORMAT && Array.isArray(nodes) && nodes.length && nodes.every(isObject) ? { pipeline, nodes } : null;
  } catch {
    return null;
  }
}

/** Return the patch that adds copies of nodes, moved `by` pixels: {patch, ids}. */
export function pasteNodes(document, { pipeline, nodes }, by) {
  const taken = takenIds(document);
  const renamed = new Map();
  const ids = nodes.map(({ id, kind }) => {
    const free = freeId(taken, shortened(typeof id === "string" ? id : String(kind)));
    taken.add(free);
    renamed.set(id, free);
    return free;
  });
  const isKnown = (id) => pipeline === document?.id && takenIds(document).has(id);
  const copies = nodes.map((node, i) => ({ ...node, id: ids[i], ...rewired(node, renamed, isKnown), ...moved(node, by) }));
  return { patch: appendNodes(document, copies), ids };
}

/** The maximum length of an id before the number that makes it unique. */
function shortened(id) {
  return id.replace(/_\d+$/, "").slice(0, MOST_ID - 4);
}

function rewired({ inputs, ops, ...node }, renamed, isKnown) {
  if (!Array.isArray(inputs)) return {};
  const copied = inputs.filter((id) => renamed.has(id) || isKnown(id)).map((id) => renamed.get(id) ?? id);
  const joins = Array.isArray(ops) ? { ops: ops.map((op) => rejoined(op, renamed)) } : {};
  return { inputs: copied, ...joins, ...renamedBranches(node, renamed) };
}

function rejoined(op, renamed) {
  return isObject(op) && renamed.has(op.with) ? { ...op, with: renamed.get(op.with) } : op;
}

function moved({ ui }, by) {
  return Number.isFinite(ui?.x) && Number.isFinite(ui?.y) ? { ui: rounded({ x: ui.x + by.x, y: ui.y + by.y }) } : {};
}

/** Remove secrets that users wrote into settings, although documents must not contain any. */
function withoutSecrets(node) {
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, SETTINGS.includes(name) ? cleaned(part) : part]));
}

function cleaned(value) {
  if (typeof value === "string") return value.replace(/(:\/\/[^\s:@/]*):[^\s@/]*@/g, "$1@");
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !SECRET.test(name)).map(([name, part]) => [name, cleaned(part)]),
  );
}
