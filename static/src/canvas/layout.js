// Places for nodes that have none: layers from left to right, or downwards where the room is tall; each node stands in
// the middle of what it feeds.

export const NODE = { width: 264, height: 88 };
const GAP = { right: 96, down: 64, across: 36 };
/** From a node's corner to that of the next one to the right, and of the next one below. */
export const STEP = { x: NODE.width + GAP.right, y: NODE.height + GAP.down };
/** The same among nodes that stand beside each other. */
export const SIDESTEP = { x: NODE.width + GAP.across, y: NODE.height + GAP.across };

/** {key: {x, y}} of upper left corners, for all nodes; no two overlap, also where the edges run in circles. */
export function layOut(nodes, edges, isTall = false) {
  const forward = forwardOnly(nodes, edges);
  const layers = layersOf(nodes, forward);
  const rows = rowsOf(nodes, forward);
  const place = isTall
    ? (key) => ({ x: Math.round(rows[key] * SIDESTEP.x), y: layers[key] * STEP.y })
    : (key) => ({ x: layers[key] * STEP.x, y: Math.round(rows[key] * SIDESTEP.y) });
  return Object.fromEntries(nodes.map(({ key }) => [key, place(key)]));
}

/** {key: {x, y}}: where the document puts the nodes; all others lie below those, in layers of their own. */
export function placesOf(nodes, edges, isTall = false) {
  const placed = nodes.filter(({ position }) => position);
  const laid = layOut(nodes, edges, isTall);
  const below = placed.length ? Math.max(...placed.map(({ position }) => position.y)) + SIDESTEP.y : 0;
  const left = placed.length ? Math.min(...placed.map(({ position }) => position.x)) : 0;
  return Object.fromEntries(
    nodes.map(({ key, position }) => [key, position ?? { x: left + laid[key].x, y: below + laid[key].y }]),
  );
}

/** Whether the edges run downwards rather than to the right. */
export function runsDown(places, edges) {
  const across = edges.map(({ source, target }) => places[target].x - places[source].x - NODE.width);
  const down = edges.map(({ source, target }) => places[target].y - places[source].y - NODE.height);
  return edges.length > 0 && sum(down) > sum(across);
}

/** {key: {x, y}} of what must move, with the place of a node that is inserted on an edge as `inserted`. */
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

/** How far copies of nodes must stand from their originals so that they cover none: {x, y}. */
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

/** {key: {x, y}} of nodes in line, or with equal steps between them. */
export function align(places, keys, how) {
  const axis = how === "left" || how === "across" ? "x" : "y";
  const ordered = keys.toSorted((a, b) => places[a][axis] - places[b][axis]);
  const first = places[ordered[0]][axis];
  const isSpaced = how === "across" || how === "down";
  const step = isSpaced ? Math.max(SIDESTEP[axis], (places[ordered.at(-1)][axis] - first) / (ordered.length - 1)) : 0;
  return Object.fromEntries(ordered.map((key, i) => [key, { ...places[key], [axis]: first + i * step }]));
}

/** The node that an arrow key leads to: along the edges in their direction, or beside the node; null where there is none. */
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

/** The edges without those that close a circle. */
function forwardOnly(nodes, edges) {
  const kept = [];
  const state = {};
  const visit = (key) => {
    state[key] = "open";
    for (const edge of edges.filter(({ source }) => source === key)) {
      if (state[edge.target] === "open") continue;
      kept.push(edge);
      if (!state[edge.target]) visit(edge.target);
    }
    state[key] = "done";
  };
  for (const { key } of nodes) if (!state[key]) visit(key);
  return kept;
}

/** {key: layer}: one more than the highest layer among those that feed the node. */
function layersOf(nodes, edges) {
  const layers = {};
  const visit = (key) => {
    const before = edges.filter(({ target }) => target === key).map(({ source }) => source);
    return (layers[key] ??= Math.max(-1, ...before.map(visit)) + 1);
  };
  nodes.forEach(({ key }) => visit(key));
  return layers;
}

/** {key: row}: rows of their own for nodes that feed nothing new, the mean of those they feed for the others. */
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
