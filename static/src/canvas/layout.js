// Positions for nodes without one: layers from left to right, or downwards if the pane is tall; each node is centred
// on the nodes that it feeds.

export const NODE = { width: 264, height: 88 };
const GAP = { right: 96, down: 64, across: 36 };
/** The distance between the corners of neighbouring nodes, to the right and downwards. */
export const STEP = { x: NODE.width + GAP.right, y: NODE.height + GAP.down };
/** The same for nodes in one layer. */
export const SIDESTEP = { x: NODE.width + GAP.across, y: NODE.height + GAP.across };

/** Return {key: {x, y}} of the upper left corners of all nodes, without overlaps, even if edges form cycles. */
export function layOut(nodes, edges, isTall = false) {
  const forward = forwardOnly(nodes, edges);
  const layers = layersOf(nodes, forward);
  const rows = rowsOf(nodes, forward);
  const place = isTall
    ? (key) => ({ x: Math.round(rows[key] * SIDESTEP.x), y: layers[key] * STEP.y })
    : (key) => ({ x: layers[key] * STEP.x, y: Math.round(rows[key] * SIDESTEP.y) });
  return Object.fromEntries(nodes.map(({ key }) => [key, place(key)]));
}

/** Return {key: {x, y}}: positions of the document; nodes without one are below them, in their own layers. */
export function placesOf(nodes, edges, isTall = false) {
  const placed = nodes.filter(({ position }) => position);
  const laid = layOut(nodes, edges, isTall);
  const below = placed.length ? Math.max(...placed.map(({ position }) => position.y)) + SIDESTEP.y : 0;
  const left = placed.length ? Math.min(...placed.map(({ position }) => position.x)) : 0;
  return Object.fromEntries(
    nodes.map(({ key, position }) => [key, position ?? { x: left + laid[key].x, y: below + laid[key].y }]),
  );
}

/** Return whether edges run downwards rather than to the right. */
export function runsDown(places, edges) {
  const across = edges.map(({ source, target }) => places[target].x - places[source].x - NODE.width);
  const down = edges.map(({ source, target }) => places[target].y - places[source].y - NODE.height);
  return edges.length > 0 && sum(down) > sum(across);
}

/** Return {key: {x, y}} of the nodes to move, and as `inserted` the position of a node that is inserted on an edge. */
export function makeRoom(places, edges, { source, target }, isDown) {
  const axis = isDown ? "y" : "x";
  const inserted = { ...places[target], [axis]: places[source][axis] + STEP[axis] };
  const missing = inserted[axis] + STEP[axis] - places[target][axis];
  const moved = missing > 0 ? [...downstreamOf(target, edges)] : [];
  const shifted = moved.map((key) => [key, { ...places[key], [axis]: places[key][axis] + missing }]);
  return { inserted, shifted: Object.fromEntries(shifted) };
}

function downstreamOf(key, edges, found = new Set()) {
  if (found.has(key)) return found;
  found.add(key);
  for (const { source, target } of edges) if (source === key) downstreamOf(target, edges, found);
  return found;
}

/** Return the offset at which copies of nodes cover no node: {x, y}. */
export function stepAside(copied, places, isDown) {
  const axis = isDown ? "x" : "y";
  const taken = Object.values(places);
  const isFree = (by) => copied.every(({ x, y }) => !taken.some((at) => Math.abs(at.x - x - by.x) < NODE.width && Math.abs(at.y - y - by.y) < NODE.height));
  const by = { x: 0, y: 0 };
  do by[axis] += SIDESTEP[axis];
  while (!isFree(by));
  return by;
}

export const ALIGNMENTS = { left: "Align left", top: "Align top", across: "Space evenly, across", down: "Space evenly, down" };

/** Return {key: {x, y}} of aligned or evenly distributed nodes. */
export function align(places, keys, how) {
  const axis = how === "left" || how === "across" ? "x" : "y";
  const ordered = keys.toSorted((a, b) => places[a][axis] - places[b][axis]);
  const first = places[ordered[0]][axis];
  const isSpaced = how === "across" || how === "down";
  const step = isSpaced ? Math.max(SIDESTEP[axis], (places[ordered.at(-1)][axis] - first) / (ordered.length - 1)) : 0;
  return Object.fromEntries(ordered.map((key, i) => [key, { ...places[key], [axis]: first + i * step }]));
}

/** Return the node that an arrow key moves to: along the edges, or beside the node; null if there is none. */
export function neighbour(places, edges, key, arrow, isDown) {
  const isForward = arrow === "ArrowRight" || arrow === "ArrowDown";
  const arrowAxis = arrow === "ArrowUp" || arrow === "ArrowDown" ? "y" : "x";
  const linked = isForward
    ? edges.filter(({ source }) => source === key).map(({ target }) => target)
    : edges.filter(({ target }) => target === key).map(({ source }) => source);
  const [along, size] = isDown ? ["y", NODE.height] : ["x", NODE.width];
  if (arrowAxis === along) return nearest(places, key, linked);
  const beside = Object.keys(places).filter(
    (other) => Math.abs(places[other][along] - places[key][along]) < size && (isForward ? 1 : -1) * (places[other][arrowAxis] - places[key][arrowAxis]) > 0,
  );
  return nearest(places, key, beside.length ? beside : linked);
}

function nearest(places, key, others) {
  const distance = (other) => Math.hypot(places[other].x - places[key].x, places[other].y - places[key].y);
  return others.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Return the edges without those that close a cycle. */
function forwardOnly(nodes, edges) {
  const acyclic = [];
  const state = {};
  const visit = (key) => {
    state[key] = "open";
    for (const edge of edges.filter(({ source }) => source === key)) {
      if (state[edge.target] === "open") continue;
      acyclic.push(edge);
      if (!state[edge.target]) visit(edge.target);
    }
    state[key] = "done";
  };
  for (const { key } of nodes) if (!state[key]) visit(key);
  return acyclic;
}

/** Return {key: layer}: one more than the highest layer of the nodes that feed the node. */
function layersOf(nodes, edges) {
  const layers = {};
  const visit = (key) => {
    const before = edges.filter(({ target }) => target === key).map(({ source }) => source);
    return (layers[key] ??= Math.max(-1, ...before.map(visit)) + 1);
  };
  nodes.forEach(({ key }) => visit(key));
  return layers;
}

/** Return {key: row}: a new row for a node that feeds no further node, else the mean row of the nodes that it feeds. */
function rowsOf(nodes, edges) {
  const rows = {};
  let free = 0;
  const visit = (key) => {
    rows[key] = 0;
    const fed = edges.filter(({ source, target }) => source === key && !(target in rows)).map(({ target }) => target);
    const below = [];
    for (const target of fed) if (!(target in rows)) below.push(visit(target));
    return (rows[key] = below.length ? sum(below) / below.length : free++);
  };
  const isFed = new Set(edges.map(({ target }) => target));
  for (const { key } of nodes) if (!isFed.has(key)) visit(key);
  for (const { key } of nodes) if (!(key in rows)) visit(key);
  return rows;
}
