// The canvas as data: what a document shows, and each action as the JSON Patch (RFC 6902) that brings it about.
// Nothing here validates. A document may be faulty in any way, and what cannot be drawn is left out.
// Patches begin with `test` operations on what was seen, so that one that no longer fits is refused as a whole.

export const KINDS = ["source", "transform", "validate", "target"];

const SKELETONS = {
  source: () => ({
    connector: "local_fs",
    config: { path: "", pattern: { type: "glob", value: "*.csv" }, format: { type: "csv" } },
  }),
  transform: () => ({ inputs: [], ops: [] }),
  // Quarantine is on by default, because rejected rows that are not stored are lost.
  validate: ({ id }) => ({ inputs: [], rowLevel: [], quarantine: { enabled: true, table: `dlq.${text(id).replaceAll("-", "_") || "rejected"}` } }),
  target: (_, connection) => ({ inputs: [], connector: "postgres", ...(connection && { connection }), schema: "public", loadMode: "append" }),
};
/** The kinds that may read from each kind. */
const FEEDS = { source: KINDS.slice(1), transform: KINDS.slice(1), validate: ["validate", "target"], target: [] };
const FIRST_IDS = { source: "source", transform: "transform", validate: "check", target: "load" };

/**
 * The document's nodes in its order: [{key, index, id, kind, name, summary, inputs, position, errors, warnings}].
 * `key` is the id, or `#<index>` where an id is missing or taken; `position` is {x, y} or null.
 */
export function drawnNodes(document, diagnostics = []) {
  const seen = new Set();
  return rawNodes(document).map(({ node, index }) => {
    const id = typeof node.id === "string" ? node.id : null;
    const key = id && !seen.has(id) ? id : `#${index}`;
    seen.add(id);
    return {
      key, index, id,
      kind: typeof node.kind === "string" ? node.kind : "",
      name: text(node.name) || id || "(no id)",
      summary: summaryOf(node),
      inputs: inputsOf(node),
      position: positionOf(node),
      ...countsAt(diagnostics, index),
    };
  });
}

/** The edges that can be drawn: [{key, source, target, index}], `index` being the place in the target's `inputs`. */
export function drawnEdges(nodes) {
  const known = new Set(nodes.map((node) => node.key));
  return nodes.flatMap((node) =>
    node.inputs
      .map((id, index) => ({ key: `${id}>${node.key}:${index}`, source: id, target: node.key, index }))
      .filter((edge) => known.has(edge.source)),
  );
}

function rawNodes(document) {
  const nodes = Array.isArray(document?.nodes) ? document.nodes : [];
  return nodes.map((node, index) => ({ node, index })).filter(({ node }) => isObject(node));
}

function inputsOf(node) {
  return Array.isArray(node.inputs) ? node.inputs : [];
}

function positionOf(node) {
  const { x, y } = isObject(node.ui) ? node.ui : {};
  return Number.isFinite(x) && Number.isFinite(y) ? { x, y } : null;
}

function countsAt(diagnostics, index) {
  const place = `/nodes/${index}`;
  const here = diagnostics.filter(({ path }) => path === place || path.startsWith(`${place}/`));
  const errors = here.filter(({ severity }) => severity === "error").length;
  return { errors, warnings: here.length - errors };
}

// --- what a node says of itself in one line --------------------------------------------------------------------

const SUMMARIES = {
  source: (node) => {
    const config = isObject(node.config) ? node.config : {};
    const table = isObject(config.table) ? joined([config.table.schema, config.table.name], ".") : "";
    const file = joined([text(config.path), text(config.pattern?.value)], "/").replace(/\/+/g, "/");
    return table || file || (text(config.query) ? "query" : "") || text(node.connector);
  },
  transform: (node) => counted(node.ops, "operation"),
  validate: (node) => joined([counted(node.rowLevel, "row rule"), checksOf(node.datasetLevel)], ", "),
  target: (node) => joined([joined([text(node.schema), text(node.table)], "."), text(node.loadMode)], " · "),
};

function summaryOf(node) {
  return Object.hasOwn(SUMMARIES, node.kind) ? SUMMARIES[node.kind](node) : "";
}

function checksOf(level) {
  const checks = isObject(level) ? Object.values(level).flat() : [];
  return checks.length ? counted(checks, "check") : "";
}

function counted(list, what) {
  const number = Array.isArray(list) ? list.length : 0;
  return number === 1 ? `1 ${what}` : `${number || "no"} ${what}s`;
}

// --- actions -> patches; null where there is nothing to do -----------------------------------------------------

/** The key of the only node that nothing reads from and a node of that kind may read from; null where that is not clear. */
export function looseEnd(nodes, kind) {
  const isRead = new Set(nodes.flatMap(({ inputs }) => inputs));
  const loose = nodes.filter((node) => node.id && FEEDS[node.kind]?.includes(kind) && !isRead.has(node.id));
  return loose.length === 1 ? loose[0].key : null;
}

/** A new node at a place, reading from the node `after` if it can, in a database of that `connection`: {patch, id}. */
export function addNode(document, kind, position, after = null, connection = "") {
  const id = freeId(document, FIRST_IDS[kind]);
  const node = { id, kind, ...SKELETONS[kind](document ?? {}, connection), ui: rounded(position) };
  const from = drawnNodes(document).find(({ key }) => key === after);
  if (from?.id && FEEDS[from.kind]?.includes(kind)) node.inputs = [from.id];
  const patch = Array.isArray(document?.nodes)
    ? [{ op: "add", path: "/nodes/-", value: node }]
    : [{ op: "add", path: "/nodes", value: [node] }];
  return { patch, id };
}

/** Every node reads from one node: a new edge takes the place of the one that was there. */
export function connect(document, sourceKey, targetKey) {
  const nodes = drawnNodes(document);
  const [from, to] = [sourceKey, targetKey].map((key) => nodes.find((node) => node.key === key));
  if (!from?.id || !to || from === to || (to.inputs.length === 1 && to.inputs[0] === from.id)) return null;
  const path = `/nodes/${to.index}/inputs`;
  const before = document.nodes[to.index].inputs;
  const seen = before === undefined ? [] : [{ op: "test", path, value: before }];
  return [...same(to), ...same(from), ...seen, { op: before === undefined ? "add" : "replace", path, value: [from.id] }];
}

/** What a new edge to a node would replace, in words; "" where nothing. */
export function replacedBy(nodes, targetKey) {
  return nodes.find(({ key }) => key === targetKey)?.inputs.join(", ") ?? "";
}

/** `keys` of nodes that are to go with all edges from them, and `edges` ({target, source, index}) that are to go. */
export function remove(document, keys, edges = []) {
  const nodes = drawnNodes(document);
  const gone = nodes.filter(({ key }) => keys.includes(key));
  const kept = nodes.filter(({ key }) => !keys.includes(key));
  const cuts = kept.flatMap((node) => cutInputs(node, gone.filter(({ key, id }) => key === id), edges));
  if (!gone.length && !cuts.length) return null;
  const backwards = gone.toReversed();
  return [...gone.flatMap(same), ...cuts, ...backwards.map(({ index }) => ({ op: "remove", path: `/nodes/${index}` }))];
}

function cutInputs(node, gone, edges) {
  const ids = new Set(gone.map(({ id }) => id));
  const cut = node.inputs
    .map((id, index) => ({ id, index, path: `/nodes/${node.index}/inputs/${index}` }))
    .filter(({ id, index }) => ids.has(id) || edges.some((e) => e.target === node.key && e.index === index && e.source === id));
  if (!cut.length) return [];
  const seen = cut.map(({ id, path }) => ({ op: "test", path, value: id }));
  return [...same(node), ...seen, ...cut.toReversed().map(({ path }) => ({ op: "remove", path }))];
}

/** `positions` by key: {key: {x, y}}; nodes that stay where they are are left out. */
export function move(document, positions) {
  const moved = drawnNodes(document).filter(({ key, position }) => {
    const to = positions[key] && rounded(positions[key]);
    return to && !(position && position.x === to.x && position.y === to.y);
  });
  if (!moved.length) return null;
  return moved.flatMap((node) => [
    ...same(node),
    { op: "add", path: `/nodes/${node.index}/ui`, value: rounded(positions[node.key]) },
  ]);
}

function same({ index, id }) {
  return id === null ? [] : [{ op: "test", path: `/nodes/${index}/id`, value: id }];
}

function freeId(document, wanted) {
  const taken = new Set(rawNodes(document).map(({ node }) => node.id));
  let id = wanted;
  for (let number = 2; taken.has(id); number++) id = `${wanted}_${number}`;
  return id;
}

// --- small things ----------------------------------------------------------------------------------------------

function rounded({ x, y }) {
  // -0 would be written as "-0".
  return { x: Math.round(x) + 0, y: Math.round(y) + 0 };
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function joined(parts, between) {
  return parts.filter((part) => typeof part === "string" && part).join(between);
}
