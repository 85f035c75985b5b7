// Nodes as text on the system's clipboard, and back as a JSON Patch. Ids are new; what only another pipeline has is left out.
import { renamedBranches } from "./branches.js";
import { appendNodes, drawnNodes, freeId, takenIds } from "./model.js";
import { isObject, rounded } from "./plain.js";

const FORMAT = "flow/nodes";
const SECRET = /passw|secret|token|credential|api[-_]?key|private[-_]?key/i;
/** Members of a node that settings of other systems stand in. */
const SETTINGS = ["config", "preHook", "postHook"];
const MOST_ID = 63;

/** The text of some nodes; null where there are none. `places` says where the canvas shows them. */
export function copyNodes(document, keys, places) {
  const copied = drawnNodes(document).filter(({ key }) => keys.includes(key));
  if (!copied.length) return null;
  const nodes = copied.map(({ key, index }) => ({ ...withoutSecrets(document.nodes[index]), ui: rounded(places[key]) }));
  return JSON.stringify({ format: FORMAT, pipeline: document.id, nodes }, null, 2);
}

/** The nodes of a text of `copyNodes`: {pipeline, nodes}; null for any other text. */
export function readNodes(given) {
  if (!given.includes(FORMAT)) return null;
  try {
    const { format, pipeline, nodes } = JSON.parse(given);
    return format === FORMAT && Array.isArray(nodes) && nodes.length && nodes.every(isObject) ? { pipeline, nodes } : null;
  } catch {
    return null;
  }
}

/** Copies of nodes, `by` pixels from where they stood: {patch, ids}. */
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

/** Room for the number that makes an id unique. */
function shortened(id) {
  return id.replace(/_\d+$/, "").slice(0, MOST_ID - 4);
}

function rewired({ inputs, ops, ...node }, renamed, isKnown) {
  if (!Array.isArray(inputs)) return {};
  const kept = inputs.filter((id) => renamed.has(id) || isKnown(id)).map((id) => renamed.get(id) ?? id);
  const joins = Array.isArray(ops) ? { ops: ops.map((op) => rejoined(op, renamed)) } : {};
  return { inputs: kept, ...joins, ...renamedBranches(node, renamed) };
}

function rejoined(op, renamed) {
  return isObject(op) && renamed.has(op.with) ? { ...op, with: renamed.get(op.with) } : op;
}

function moved({ ui }, by) {
  return Number.isFinite(ui?.x) && Number.isFinite(ui?.y) ? { ui: rounded({ x: ui.x + by.x, y: ui.y + by.y }) } : {};
}

/** A document has no place for secrets. What somebody wrote into settings all the same does not leave it. */
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
