// Places for nodes that have none: layers from left to right, or downwards where the room is tall; each node stands in
// the middle of what it feeds.

export const NODE = { width: 220, height: 84 };
const GAP = { along: 64, across: 36 };
/** From a node's corner to that of the next one to the right, and of the next one below. */
export const STEP = { x: NODE.width + GAP.along, y: NODE.height + GAP.along };
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
