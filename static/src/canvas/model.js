// The canvas as data: the nodes and edges of a document, and each action as a JSON Patch (RFC 6902).
// Nothing here validates. A document may have any error; parts that cannot be drawn are omitted.
// Patches begin with `test` operations on the displayed state, so that the server refuses outdated ones completely.
// `kinds` is the server's description of the kinds of nodes: [{kind, firstId, fields, readBy}].
import { branchesOf, droppedBranches, newBranch, redirected } from "./branches.js";
import { isObject, rounded, text } from "./plain.js";
import { summaryOf } from "./summaries.js";

/**
 * Return the document's nodes in its order: [{key, index, id, kind, name, summary, inputs, branches, unites, position, errors, warnings}].
 * `key` is the id, or `#<index>` if an id is missing or repeated; `position` is {x, y} or null.
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
      branches: branchesOf(node),
      unites: unites(node),
      position: positionOf(node),
      ...countsAt(diagnostics, index),
    };
  });
}

/**
 * Return the edges that can be drawn: [{key, source, target, index, isReference}]. `index` is the position in the target's `inputs`;
 * the rows of a reference do not pass through the target.
 */
export function drawnEdges(nodes) {
  const known = new Set(nodes.map((node) => node.key));
  return nodes.flatMap((node) =>
    node.inputs
      .map((id, index) => ({ key: `${id}>${node.key}:${index}`, source: id, target: node.key, index, isReference: index > 0 && !node.unites }))
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

/** Return whether the rows of all inputs pass through a node. Otherwise its further inputs are references of joins. */
function unites(node) {
  return Array.isArray(node.ops) && node.ops.some((op) => isObject(op) && op.op === "union");
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

// --- kinds -----------------------------------------------------------------------------------------------------

/** Return whether a node of the kind `reader` may read from one of `kind`. */
export function mayRead(kinds, reader, kind) {
  return Boolean(kinds.find((one) => one.kind === kind)?.readBy.includes(reader));
}

/** Return the kinds that may be inserted between two nodes. */
export function kindsBetween(kinds, source, target) {
  return kinds.filter(({ kind }) => mayRead(kinds, kind, source.kind) && mayRead(kinds, target.kind, kind));
}

/** Return the key of the only node without readers that a node of that kind may read from; null unless there is exactly one. */
export function looseEnd(nodes, kinds, kind) {
  const isRead = new Set(nodes.flatMap(({ inputs }) => inputs));
  const loose = nodes.filter((node) => node.id && mayRead(kinds, kind, node.kind) && !isRead.has(node.id));
  return loose.length === 1 ? loose[0].key : null;
}

// --- actions -> patches; null if there is nothing to do -----------------------------------------------------

/** Add a node that reads from the node `after` if possible: {patch, id}. Without a `position`, the layout places it. */
export function addNode(document, kinds, kind, position = null, after = null) {
  const from = drawnNodes(document).find(({ key }) => key === after);
  const node = newNode(document, kinds, kind, position);
  const reads = from?.id && mayRead(kinds, kind, from.kind);
  if (reads) node.inputs = [from.id];
  const branch = reads ? newBranch(document, from, node.id) : [];
  return { patch: [...(branch.length ? same(from) : []), ...branch, ...appendNodes(document, [node])], id: node.id };
}

/** Insert a node on an edge ({source, target, index}): {patch, id}, or null if the edge does not exist any more. */
export function insertNode(document, kinds, kind, position, edge) {
  const nodes = drawnNodes(document);
  const [from, to] = endsOf(nodes, edge);
  if (!from?.id || to?.inputs[edge.index] !== from.id) return null;
  const node = { ...newNode(document, kinds, kind, position), inputs: [from.id] };
  const path = `/nodes/${to.index}/inputs/${edge.index}`;
  const joins = edge.index ? joinsWith(document, to, from.id) : [];
  const rewired = [
    { op: "test", path, value: from.id },
    ...[path, ...joins.map((join) => `${join}/with`)].map((place) => ({ op: "replace", path: place, value: node.id })),
  ];
  const branch = edge.index ? [] : redirected(document, from, to.id, node.id);
  return { patch: [...same(from), ...same(to), ...rewired, ...branch, ...appendNodes(document, [node])], id: node.id };
}

function newNode(document, kinds, kind, position) {
  const { firstId, fields } = kinds.find((one) => one.kind === kind);
  const node = { id: freeId(takenIds(document), firstId), kind, ...structuredClone(fields) };
  return position ? { ...node, ui: rounded(position) } : node;
}

export function appendNodes(document, nodes) {
  return Array.isArray(document?.nodes)
    ? nodes.map((value) => ({ op: "add", path: "/nodes/-", value }))
    : [{ op: "add", path: "/nodes", value: nodes }];
}

/**
 * Connect two nodes. The rows of a node come from one node, so a new edge replaces the previous one. A second edge from a
 * source or a transform to a transform node adds a join, or an input if the node unites rows. An edge from a branch node
 * adds a branch.
 */
export function connect(document, sourceKey, targetKey) {
  const [from, to] = endsOf(drawnNodes(document), { source: sourceKey, target: targetKey });
  if (!from?.id || !to || from === to || (to.inputs.length === 1 && to.inputs[0] === from.id)) return null;
  if (!mayJoin(from, to)) return setInput(document, from, to);
  if (to.inputs.includes(from.id)) return null;
  return to.unites ? addInput(from, to) : addJoin(document, from, to);
}

/** Return whether a node has a further edge without giving up another one. */
export function mayJoin(from, to) {
  return Boolean(from && to) && to.kind === "transform" && to.inputs.length > 0 && (from.kind === "source" || from.kind === "transform");
}

function addInput(from, to) {
  return [...same(to), ...same(from), { op: "add", path: `/nodes/${to.index}/inputs/-`, value: from.id }];
}

function addJoin(document, from, to) {
  const { ops } = document.nodes[to.index];
  const join = { op: "join", with: from.id, type: "left", on: {}, columns: {} };
  const path = `/nodes/${to.index}`;
  return [
    ...same(to), ...same(from),
    { op: "add", path: `${path}/inputs/-`, value: from.id },
    Array.isArray(ops) ? { op: "add", path: `${path}/ops/-`, value: join } : { op: "add", path: `${path}/ops`, value: [join] },
  ];
}

/** Return the paths of the joins of a node with a reference. */
function joinsWith(document, node, id) {
  const ops = document.nodes[node.index].ops;
  return (Array.isArray(ops) ? ops : []).flatMap((op, i) => (isObject(op) && op.with === id ? [`/nodes/${node.index}/ops/${i}`] : []));
}

function setInput(document, from, to) {
  const path = `/nodes/${to.index}/inputs`;
  const before = document.nodes[to.index].inputs;
  const seen = before === undefined ? [] : [{ op: "test", path, value: before }];
  const patch = [...same(to), ...same(from), ...seen, { op: before === undefined ? "add" : "replace", path, value: [from.id] }];
  const left = drawnNodes(document).find(({ id }) => id === to.inputs[0] && id !== from.id);
  return [...patch, ...(left ? droppedBranches(document, left, [{ target: to.id }]) : []), ...newBranch(document, from, to.id)];
}

/** Move an end of an edge to another node. */
export function reconnect(document, edge, sourceKey, targetKey) {
  if (edge.target === targetKey) return redirect(document, edge, sourceKey);
  const connected = connect(document, sourceKey, targetKey);
  return connected && [...(remove(document, [], [edge]) ?? []), ...connected];
}

/** Change the node from which the rows of a node come, or the reference of one of its joins. */
function redirect(document, edge, sourceKey) {
  const [from, to] = endsOf(drawnNodes(document), { source: sourceKey, target: edge.target });
  if (!from?.id || !to || from === to || to.inputs.includes(from.id)) return null;
  if (!edge.index) return to.inputs.length > 1 ? replaceInput(document, to, 0, from) : setInput(document, from, to);
  return replaceInput(document, to, edge.index, from);
}

function replaceInput(document, to, index, from) {
  const path = `/nodes/${to.index}/inputs/${index}`;
  const joins = index ? joinsWith(document, to, to.inputs[index]).map((join) => `${join}/with`) : [];
  const places = [path, ...joins].map((place) => ({ op: "replace", path: place, value: from.id }));
  return [...same(to), ...same(from), { op: "test", path, value: to.inputs[index] }, ...places];
}

function endsOf(nodes, { source, target }) {
  return [source, target].map((key) => nodes.find((node) => node.key === key));
}

/** Describe what a new edge between two nodes would replace; "" if nothing. */
export function replacedBy(nodes, sourceKey, targetKey) {
  const [from, to] = endsOf(nodes, { source: sourceKey, target: targetKey });
  return !to || mayJoin(from, to) ? "" : to.inputs.join(", ");
}

/** Remove the nodes `keys` with all their edges, and the `edges` ({target, source, index}). */
export function remove(document, keys, edges = []) {
  const nodes = drawnNodes(document);
  const gone = nodes.filter(({ key }) => keys.includes(key));
  const others = nodes.filter(({ key }) => !keys.includes(key));
  const cuts = others.flatMap((node) => cutInputs(document, node, gone.filter(({ key, id }) => key === id), edges));
  if (!gone.length && !cuts.length) return null;
  const backwards = gone.toReversed();
  const ends = [...edges.filter(({ index }) => !index), ...gone.map(({ id }) => ({ target: id }))];
  const branches = others.flatMap((node) => droppedBranches(document, node, ends));
  return [...gone.flatMap(same), ...cuts, ...branches, ...backwards.map(({ index }) => ({ op: "remove", path: `/nodes/${index}` }))];
}

function cutInputs(document, node, gone, edges) {
  const ids = new Set(gone.map(({ id }) => id));
  const cut = node.inputs
    .map((id, index) => ({ id, index, path: `/nodes/${node.index}/inputs/${index}` }))
    .filter(({ id, index }) => ids.has(id) || edges.some((e) => e.target === node.key && e.index === index && e.source === id));
  if (!cut.length) return [];
  const seen = cut.map(({ id, path }) => ({ op: "test", path, value: id }));
  const joins = cut.flatMap(({ id, index }) => (index ? joinsWith(document, node, id) : []));
  const paths = [...cut.map(({ path }) => path), ...joins.sort(byNumber)].toReversed();
  return [...same(node), ...seen, ...paths.map((path) => ({ op: "remove", path }))];
}

function byNumber(one, other) {
  return Number(one.split("/").at(-1)) - Number(other.split("/").at(-1));
}

/** Move nodes to `positions`: {key: {x, y}}. Unchanged positions are omitted from the patch. */
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

/** Store the displayed positions of nodes without one: {key: {x, y}}, so that they stay there when other nodes are moved. */
export function unplaced(document, shown) {
  const without = drawnNodes(document).filter(({ key, position }) => !position && shown[key]);
  return Object.fromEntries(without.map(({ key }) => [key, shown[key]]));
}

function same({ index, id }) {
  return id === null ? [] : [{ op: "test", path: `/nodes/${index}/id`, value: id }];
}

export function takenIds(document) {
  return new Set(rawNodes(document).map(({ node }) => node.id));
}

export function freeId(taken, wanted) {
  let id = wanted;
  for (let number = 2; taken.has(id); number++) id = `${wanted}_${number}`;
  return id;
}
